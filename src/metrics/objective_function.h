#pragma once

#include <functional>
#include <memory>

#include "core/flat_parameters.h"
#include "data/samples.h"
#include "metrics/shared_chunks.h"
#include "networks/model.h"
#include "objective/loss.h"

namespace batchplus {

/// What F makes of the losses of its samples.
enum class Reduction { kMean, kSum };

/// F(w), the mean or the sum of f_i(w) over some samples, as a function of the network's flat parameters: its
/// value, gradient and Hessian products, in evaluation mode (BatchNorm: running statistics; no dropout).
/// Samples pass in chunks, so memory does not grow with their number; sums over chunks are in double. The
/// network is as before after every call. With a group each call but sample_gradient is made by all ranks,
/// which share the chunks out; the bits are those of one process, at the point and along the v of rank 0.
class ObjectiveFunction {
 public:
  struct Options {
    Reduction reduction = Reduction::kMean;
    SampleLoss loss = cross_entropies;
    /// Samples that pass at a time: what activations cost in memory.
    int64_t chunk = 128;
    /// Called with the number of samples of each chunk that has passed.
    SharedChunks::OnSamples on_samples = nullptr;
    /// With whom the chunks are shared out; null: nobody. Outlives the function.
    Group* group = nullptr;
  };

  ObjectiveFunction(Model model, FlatParameters& parameters, Samples samples, Options options);

  /// d.
  int64_t size() const { return parameters_.size(); }
  int64_t samples() const { return samples_.size; }
  const FlatParameters& parameters() const { return parameters_; }
  const Model& model() const { return model_; }
  const Options& options() const { return options_; }
  Batch batch(int64_t begin, int64_t count) const { return samples_.batch(begin, count); }
  SharedChunks chunks() const { return {samples_.size, options_.chunk, options_.group}; }

  /// F at the present w. Costs a forward pass.
  double value() const;
  /// F at `point`: [d].
  double value_at(const torch::Tensor& point) const;
  /// grad F: [d]. Costs a gradient.
  torch::Tensor gradient() const;
  /// grad f_i: [d].
  torch::Tensor sample_gradient(int64_t i) const;
  /// H v for v: [d], exactly: the gradient of F's derivative along v, reverse over forward. Costs less than
  /// three gradients; where libtorch cannot differentiate an operation forwards, reverse over reverse by
  /// libtorch, which costs six.
  torch::Tensor hessian_product(const torch::Tensor& v) const;

 private:
  /// Adds up what `pass` returns for each chunk, [d], and divides by n for a mean.
  torch::Tensor sum_over_chunks(const std::function<torch::Tensor(const Batch&)>& pass) const;
  /// What the sum over all samples is divided by.
  double divisor() const {
    return options_.reduction == Reduction::kMean ? static_cast<double>(samples_.size) : 1.0;
  }
  /// Ranks may have computed it by other instructions.
  torch::Tensor of_first_rank(const torch::Tensor& v) const;
  torch::Tensor reverse_over_forward(const Batch& batch, const torch::Tensor& v) const;
  /// The derivative of each sample's loss along v: [N]; undefined: zero.
  torch::Tensor derivatives_along(const Batch& batch, const torch::Tensor& v) const;
  torch::Tensor reverse_over_reverse(const Batch& batch, const torch::Tensor& v) const;

  Model model_;
  FlatParameters& parameters_;
  Samples samples_;
  Options options_;
  mutable bool is_forward_differentiable_ = true;
};

}  // namespace batchplus
