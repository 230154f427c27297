#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/torch.h"
#include "networks/own_functions.h"

namespace batchplus {

class Layer;

/// Sees what passes through every layer with parameters. A gradient with respect to an output is to be had by
/// a hook on it.
class LayerObserver {
 public:
  virtual ~LayerObserver() = default;
  virtual void on_forward(const Layer& layer, const torch::Tensor& input, const torch::Tensor& output) = 0;
};

/// Which code computes a layer on a CPU. The numbers are the same within float rounding.
enum class Kernels {
  /// The fastest: this project's own, with Winograd's convolution.
  kFast,
  /// This project's own, direct convolution only.
  kDirect,
  /// libtorch's.
  kAten,
};

/// A layer with parameters, named `weight` and `bias` as PyTorch names them. Networks are made of these and
/// of the functions below, and of nothing else, so that a faster path can take their place behind them.
class Layer : public torch::nn::Module {
 public:
  enum class Kind { kConvolution, kLinear, kBatchNorm };

  virtual Kind kind() const = 0;
  virtual torch::Tensor forward(const torch::Tensor& x) = 0;
  /// max(0, forward(x)). Part of the layer, so that one pass over memory may do both.
  virtual torch::Tensor relu(const torch::Tensor& x);

  /// Whether the project's own kernels compute on x. They have first derivatives of training mode only, and
  /// what an observer waits for may not exist in them.
  bool uses_own_kernels(const torch::Tensor& x) const;
  Kernels kernels() const { return kernels_; }
  void set_kernels(Kernels kernels) { kernels_ = kernels; }
  const torch::Tensor& weight() const { return weight_; }
  /// Undefined without a bias.
  const torch::Tensor& bias() const { return bias_; }

 protected:
  /// Tells the observer, if there is one.
  void observed(const torch::Tensor& input, const torch::Tensor& output) const {
    if (observer_ != nullptr) observer_->on_forward(*this, input, output);
  }
  bool is_observed() const { return observer_ != nullptr; }
  /// PyTorch's default: U(-1/sqrt(fan_in), 1/sqrt(fan_in)) for weight and bias.
  void register_uniform(at::IntArrayRef weight_shape, bool has_bias);

  torch::Tensor weight_;
  torch::Tensor bias_;

 private:
  friend class LayerObservation;
  LayerObserver* observer_ = nullptr;
  Kernels kernels_ = Kernels::kFast;
};

/// Has all layers of a module computed by other kernels until the end of the scope.
class KernelsInScope {
 public:
  KernelsInScope(torch::nn::Module& module, Kernels kernels);
  ~KernelsInScope();
  KernelsInScope(const KernelsInScope&) = delete;
  KernelsInScope& operator=(const KernelsInScope&) = delete;

 private:
  std::vector<std::pair<Layer*, Kernels>> before_;
};

/// From now on.
void use_kernels(torch::nn::Module& module, Kernels kernels);

/// Lets an observer see all layers of a module until the end of the scope.
class LayerObservation {
 public:
  LayerObservation(torch::nn::Module& module, LayerObserver& observer);
  ~LayerObservation();
  LayerObservation(const LayerObservation&) = delete;
  LayerObservation& operator=(const LayerObservation&) = delete;

 private:
  std::vector<Layer*> layers_;
};

/// [N,in,H,W] to [N,out,H',W'], a square kernel.
class Convolution : public Layer {
 public:
  struct Options {
    int64_t in = 0;
    int64_t out = 0;
    int64_t kernel = 3;
    int64_t stride = 1;
    int64_t padding = 0;
    bool has_bias = true;
  };

  explicit Convolution(const Options& options);
  Kind kind() const override { return Kind::kConvolution; }
  torch::Tensor forward(const torch::Tensor& x) override;
  const Options& options() const { return options_; }

 private:
  Options options_;
};

/// [N,in] to [N,out].
class Linear : public Layer {
 public:
  Linear(int64_t in, int64_t out);
  Kind kind() const override { return Kind::kLinear; }
  torch::Tensor forward(const torch::Tensor& x) override;
  torch::Tensor relu(const torch::Tensor& x) override;
};

/// Normalises each channel of [N,C,H,W]: eps 1e-5, momentum 0.1, unbiased running variance.
class BatchNorm : public Layer {
 public:
  /// By which statistics evaluation mode normalises: the running ones, or the batch's own held fixed (no
  /// derivative goes through them).
  enum class Statistics { kRunning, kBatch };
  struct Moments {
    /// [C] each.
    torch::Tensor mean;
    torch::Tensor variance;
  };

  explicit BatchNorm(int64_t channels);
  Kind kind() const override { return Kind::kBatchNorm; }
  torch::Tensor forward(const torch::Tensor& x) override;
  torch::Tensor relu(const torch::Tensor& x) override;
  /// max(0, forward(x) + shortcut)
  torch::Tensor add_relu(const torch::Tensor& x, const torch::Tensor& shortcut);

  /// uses_own_kernels, for the statistics in use.
  bool is_fusing(const torch::Tensor& x) const;
  /// For code that computes this layer together with others; counts the batch in training mode.
  own::BatchNormParts begin_batch();

  void set_evaluation_statistics(Statistics statistics) { statistics_ = statistics; }
  /// What evaluation mode normalises x: [N,C,H,W] by.
  Moments evaluation_moments(const torch::Tensor& x) const;

  static constexpr double kEpsilon = 1e-5;
  static constexpr double kMomentum = 0.1;

 private:
  torch::Tensor evaluate(const torch::Tensor& x) const;
  /// By own kernels: forward(x), plus `shortcut` if defined, max(0, .) with is_relu.
  torch::Tensor fused(const torch::Tensor& x, const torch::Tensor& shortcut, bool is_relu);

  Statistics statistics_ = Statistics::kRunning;
  torch::Tensor running_mean_;
  torch::Tensor running_var_;
  torch::Tensor num_batches_tracked_;
};

// Qualified names keep them apart from ATen's.
namespace ops {

/// Windows of `side` x `side` beside each other. `kernels`: those of the layer before. Own ones have
/// libtorch's bits and all its derivatives.
torch::Tensor max_pool(const torch::Tensor& x, int64_t side, Kernels kernels);
torch::Tensor average_pool(const torch::Tensor& x, int64_t side);
/// The mean over each whole map: [N,C,H,W] to [N,C].
torch::Tensor global_average_pool(const torch::Tensor& x);
/// Zeroes with probability p and scales the rest by 1/(1-p), in training.
torch::Tensor dropout(const torch::Tensor& x, double p, bool is_training);
/// Every second pixel, with `channels` zero maps in front and behind: [N,C,H,W] to [N,C+2*channels,H/2,W/2].
torch::Tensor subsample_and_pad(const torch::Tensor& x, int64_t channels);

}  // namespace ops

/// Maps that grow by concatenation along the channels, as in a dense block.
class GrowingMaps {
 public:
  explicit GrowingMaps(torch::Tensor first) : all_(std::move(first)) {}
  const torch::Tensor& all() const { return all_; }
  /// Puts `maps` behind those that are there.
  void append(const torch::Tensor& maps);

 private:
  torch::Tensor all_;
};

}  // namespace batchplus
