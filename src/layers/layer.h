#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/tangent.h"
#include "core/torch.h"
#include "layers/layer_observer.h"

namespace batchplus {

struct Initialization;

/// Which code computes a layer on a CPU. The numbers are the same within float rounding.
enum class Kernels {
  /// The fastest: this project's own, with Winograd's convolution.
  kFast,
  /// This project's own, direct convolution only.
  kDirect,
  /// libtorch's.
  kAten,
};

/// A layer with parameters, named `weight` and `bias` as PyTorch names them. Each kind is a file of this
/// folder with all that is particular to it. Networks are made of these and of the functions beside them
/// (pooling.h, ops.h), and of nothing else, so that a faster path can take their place behind them.
class Layer : public torch::nn::Module {
 public:
  virtual torch::Tensor forward(const torch::Tensor& x) = 0;
  /// max(0, forward(x)). Part of the layer, so that one pass over memory may do both.
  virtual torch::Tensor relu(const torch::Tensor& x);

  /// What it is, in a word or two: "conv 3x3/2".
  virtual std::string describe() const = 0;
  /// Multiply-accumulate operations of the products behind `output`.
  virtual int64_t macs(const torch::Tensor& output) const = 0;
  /// Draws the parameters again of which the scheme speaks (initialization.h).
  virtual void initialize(const Initialization& scheme) = 0;

  /// Whether the project's own kernels compute on x. They have first derivatives only, and first derivatives
  /// of tangents (tangent.h). What an observer of outputs waits for may not exist in them, and one of
  /// gradients is told in evaluation mode.
  bool uses_own_kernels(const torch::Tensor& x) const;
  /// Who waits for this layer's gradients in the backward pass of what is computed now; null: nobody.
  GradientObserver* watcher() const;
  Kernels kernels() const { return kernels_; }
  void set_kernels(Kernels kernels) { kernels_ = kernels; }
  const torch::Tensor& weight() const { return weight_; }
  /// Undefined without a bias.
  const torch::Tensor& bias() const { return bias_; }

 protected:
  /// Tells the observer, if there is one, now or when the output's gradient is known.
  void observed(const torch::Tensor& input, const torch::Tensor& output) const;
  bool is_observed() const { return observer_ != nullptr || gradient_observer_ != nullptr; }
  /// Whether the output has a tangent.
  bool has_tangent(const torch::Tensor& x) const { return tangent::exists(x) || tangent::exists(weight_); }
  /// For layers of dot products, with weight: [out, ...]. PyTorch's default: U(-1/sqrt(fan_in),
  /// 1/sqrt(fan_in)) for weight and bias.
  void register_uniform(at::IntArrayRef weight_shape, bool has_bias);
  /// Of such a layer: the length of a dot product.
  int64_t fan_in() const { return weight_.numel() / weight_.size(0); }

  torch::Tensor weight_;
  torch::Tensor bias_;

 private:
  friend class LayerObservation;
  LayerObserver* observer_ = nullptr;
  GradientObserver* gradient_observer_ = nullptr;
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
  LayerObservation(torch::nn::Module& module, GradientObserver& observer);
  ~LayerObservation();
  LayerObservation(const LayerObservation&) = delete;
  LayerObservation& operator=(const LayerObservation&) = delete;

 private:
  std::vector<Layer*> layers_;
};

/// The layers of a module, in the order of module.modules().
std::vector<Layer*> layers_of(torch::nn::Module& module);

}  // namespace batchplus
