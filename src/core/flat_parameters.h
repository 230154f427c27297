#pragma once

#include <functional>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/torch.h"

namespace batchplus {

/// All trainable parameters of a module as one contiguous vector w: [d]. After construction every parameter
/// is a view of it (with the strides it had, channels-last included), so that writing w moves the network.
/// The module must outlive this object and must not replace its parameters.
class FlatParameters {
 public:
  struct Slice {
    std::string name;
    /// The parameter itself: a leaf tensor that views values().
    torch::Tensor parameter;
    int64_t offset;
  };

  explicit FlatParameters(torch::nn::Module& module);

  /// w: [d], of the parameters' type.
  const torch::Tensor& values() const { return values_; }
  int64_t size() const { return values_.numel(); }
  const std::vector<Slice>& slices() const { return slices_; }
  /// The leaf tensors in the order of the slices.
  const std::vector<torch::Tensor>& tensors() const { return tensors_; }

  /// Copies one gradient per parameter, in order, into `flat`: [d]. An undefined gradient becomes zeros.
  void gather(const std::vector<torch::Tensor>& gradients, const torch::Tensor& flat) const;

  /// Which parameter lies where, as text: flat vectors of equal layouts can be exchanged.
  std::string layout() const;

  /// A view of `flat`: [d], contiguous, with the shape and strides of the i-th parameter.
  torch::Tensor view(const torch::Tensor& flat, size_t i) const;

 private:
  std::vector<Slice> slices_;
  std::vector<torch::Tensor> tensors_;
  torch::Tensor values_;
};

/// Tells backward passes on this thread, until the end of the scope, where the gradients of parameters
/// belong, so that they can be written there at once. FlatParameters::gather finds those that were and copies
/// the others.
class GradientTarget {
 public:
  /// Told of a gradient that has been written to its place, where it begins and how many elements it has.
  using Listener = std::function<void(int64_t offset, int64_t count)>;
  /// `gradient`: [d] as values(). The listener, if there is one, is told of each gradient as soon as another
  /// one is asked for, and of the last one never.
  GradientTarget(const FlatParameters& parameters, torch::Tensor gradient, Listener listener = {});
  ~GradientTarget();
  GradientTarget(const GradientTarget&) = delete;
  GradientTarget& operator=(const GradientTarget&) = delete;

  /// A tensor like `parameter` for its gradient, with arbitrary values: its place if there is a target and
  /// nobody has asked before (a layer that is used twice has two gradients to be added), otherwise memory of
  /// its own. Whoever asks has written what was asked for before.
  static torch::Tensor tensor_for(const torch::Tensor& parameter);

 private:
  torch::Tensor values_;
  torch::Tensor gradient_;
  Listener listener_;
  std::unordered_set<int64_t> taken_;
  /// Where the gradient is that was asked for last; none if it has no elements.
  int64_t last_offset_ = 0;
  int64_t last_count_ = 0;
  GradientTarget* outer_;
};

/// A copy of a module's buffers (BatchNorm's running statistics), to be put back after a replayed forward
/// pass.
class BufferSnapshot {
 public:
  explicit BufferSnapshot(const torch::nn::Module& module);
  void restore() const;

 private:
  std::vector<torch::Tensor> buffers_;
  std::vector<torch::Tensor> saved_;
};

}  // namespace batchplus
