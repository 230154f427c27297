#pragma once

#include <cstdint>

namespace batchplus {

/// Counts what a run spends. One sample gradient is the gradient of one sample's loss at one point; a
/// gradient evaluation is b of them. Only the gradient oracle charges it.
class GradientBudget {
 public:
  GradientBudget() = default;
  /// As it was when these had been charged.
  GradientBudget(int64_t sample_gradients, int64_t sample_forwards)
      : sample_gradients_(sample_gradients), sample_forwards_(sample_forwards) {}

  void charge_gradients(int64_t samples) { sample_gradients_ += samples; }
  void charge_forwards(int64_t samples) { sample_forwards_ += samples; }

  int64_t sample_gradients() const { return sample_gradients_; }
  /// Samples that went forward only (modified-sgd's statistics pass); they are no gradients.
  int64_t sample_forwards() const { return sample_forwards_; }
  double gradient_evaluations(int64_t inner_batch_size) const {
    return static_cast<double>(sample_gradients_) / static_cast<double>(inner_batch_size);
  }

 private:
  int64_t sample_gradients_ = 0;
  int64_t sample_forwards_ = 0;
};

}  // namespace batchplus
