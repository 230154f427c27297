#include "metrics/objective_function.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/forward_grad.h>

#include <algorithm>

#include "metrics/layer_rules.h"
#include "util/error.h"

namespace batchplus {
namespace {

/// Gives the parameters tangents until the end of the scope.
class Tangents {
 public:
  Tangents(const FlatParameters& parameters, const torch::Tensor& v)
      : level_(torch::autograd::ForwardADLevel::get_next_idx()) {
    BATCHPLUS_CHECK(level_ == 0, "layers look for tangents at the first level");
    for (size_t i = 0; i < parameters.tensors().size(); ++i) {
      parameters.tensors()[i]._set_fw_grad(parameters.view(v, i), level_, /*is_inplace_op=*/false);
    }
  }
  ~Tangents() { torch::autograd::ForwardADLevel::release_idx(level_); }
  Tangents(const Tangents&) = delete;
  Tangents& operator=(const Tangents&) = delete;

  /// Undefined when the tensor does not depend on the parameters.
  torch::Tensor tangent_of(const torch::Tensor& tensor) const { return tensor._fw_grad(level_); }
  torch::Tensor primal_of(const torch::Tensor& tensor) const { return tensor._fw_primal(level_); }

 private:
  uint64_t level_;
};

/// Moves w to another point until the end of the scope.
class AtPoint {
 public:
  AtPoint(FlatParameters& parameters, const torch::Tensor& point)
      : values_(parameters.values()), present_(values_.clone()) {
    const torch::NoGradGuard no_grad;
    values_.copy_(point);
  }
  ~AtPoint() {
    const torch::NoGradGuard no_grad;
    values_.copy_(present_);
  }
  AtPoint(const AtPoint&) = delete;
  AtPoint& operator=(const AtPoint&) = delete;

 private:
  torch::Tensor values_;
  torch::Tensor present_;
};

}  // namespace

ObjectiveFunction::ObjectiveFunction(Model model, FlatParameters& parameters, Samples samples,
                                     Options options)
    : model_(std::move(model)),
      parameters_(parameters),
      samples_(std::move(samples)),
      options_(std::move(options)) {
  if (samples_.size == 0) throw Error("there are no samples to measure on");
  BATCHPLUS_CHECK(options_.chunk > 0, "a chunk has samples");
}

torch::Tensor ObjectiveFunction::sum_over_chunks(
    const std::function<torch::Tensor(const Batch&)>& pass) const {
  const EvaluationMode evaluation(model_);
  torch::Tensor sum;
  for (int64_t begin = 0; begin < samples_.size; begin += options_.chunk) {
    const int64_t count = std::min(options_.chunk, samples_.size - begin);
    const torch::Tensor part = pass(samples_.batch(begin, count)).to(torch::kFloat64);
    sum = sum.defined() ? sum.add_(part) : part;
    if (options_.on_samples) options_.on_samples(count);
  }
  return options_.reduction == Reduction::kMean ? sum.div_(samples_.size) : sum;
}

double ObjectiveFunction::value() const {
  const torch::NoGradGuard no_grad;
  const auto losses = [&](const Batch& batch) {
    return options_.loss(model_.forward(batch.images), batch.labels).sum(torch::kFloat64);
  };
  return sum_over_chunks(losses).item<double>();
}

double ObjectiveFunction::value_at(const torch::Tensor& point) const {
  const AtPoint moved(parameters_, point);
  return value();
}

torch::Tensor ObjectiveFunction::gradient() const {
  const torch::Tensor flat = torch::empty_like(parameters_.values());
  const auto pass = [&](const Batch& batch) {
    const torch::Tensor loss = options_.loss(model_.forward(batch.images), batch.labels).sum();
    parameters_.gather(torch::autograd::grad({loss}, parameters_.tensors(), {}, /*retain_graph=*/false,
                                             /*create_graph=*/false, /*allow_unused=*/true),
                       flat);
    return flat;
  };
  return sum_over_chunks(pass).to(flat.scalar_type());
}

torch::Tensor ObjectiveFunction::sample_gradient(int64_t i) const {
  const Samples one{1, [&](int64_t, int64_t) { return samples_.batch(i, 1); }};
  return ObjectiveFunction(model_, parameters_, one, {.loss = options_.loss}).gradient();
}

torch::Tensor ObjectiveFunction::hessian_product(const torch::Tensor& v) const {
  const auto pass = [&](const Batch& batch) {
    if (is_forward_differentiable_) {
      try {
        return forward_over_reverse(batch, v);
      } catch (const c10::NotImplementedError&) {
        is_forward_differentiable_ = false;
      }
    }
    return reverse_over_reverse(batch, v);
  };
  return sum_over_chunks(pass).to(v.scalar_type());
}

torch::Tensor ObjectiveFunction::forward_over_reverse(const Batch& batch, const torch::Tensor& v) const {
  const torch::Tensor product = torch::zeros_like(v);
  if (!passes_) passes_ = std::make_shared<LayerPasses>(model_, parameters_, batch.images.slice(0, 0, 1));
  const LayerPasses& passes = *passes_;
  // Own kernels have no tangents.
  const KernelsInScope by_libtorch(*model_.module, Kernels::kAten);
  const Tangents tangents(parameters_, v);
  const auto on_layer = [&](size_t place, const LayerPass& dual) {
    const LayerPass primal{dual.layer, tangents.primal_of(dual.input),
                           tangents.primal_of(dual.output_gradient)};
    LayerPass tangent{dual.layer, tangents.tangent_of(dual.input), tangents.tangent_of(dual.output_gradient)};
    if (!tangent.output_gradient.defined()) {
      tangent.output_gradient = torch::zeros_like(primal.output_gradient);
    }
    const c10::AutoFwGradMode without_tangents(false);
    const LayerGradients moved = rule_for(dual.layer).gradient_tangent(primal, tangent);
    const LayerPlace& where = passes.layers()[place];
    parameters_.view(product, *where.weight).copy_(moved.weight);
    if (where.bias) parameters_.view(product, *where.bias).copy_(moved.bias);
  };
  const auto on_rest = [&](size_t slice, const torch::Tensor& gradient) {
    const torch::Tensor tangent = tangents.tangent_of(gradient);
    if (tangent.defined()) parameters_.view(product, slice).copy_(tangent);
  };
  passes.run(batch, options_.loss, {on_layer, on_rest});
  return product;
}

torch::Tensor ObjectiveFunction::reverse_over_reverse(const Batch& batch, const torch::Tensor& v) const {
  const torch::Tensor product = torch::zeros_like(v);
  const torch::Tensor loss = options_.loss(model_.forward(batch.images), batch.labels).sum();
  const auto gradients = torch::autograd::grad({loss}, parameters_.tensors(), {}, /*retain_graph=*/true,
                                               /*create_graph=*/true, /*allow_unused=*/true);
  torch::Tensor along_v = torch::zeros({}, v.options());
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (gradients[i].defined()) along_v = along_v + (gradients[i] * parameters_.view(v, i)).sum();
  }
  if (!along_v.requires_grad()) return product;
  parameters_.gather(torch::autograd::grad({along_v}, parameters_.tensors(), {}, /*retain_graph=*/false,
                                           /*create_graph=*/false, /*allow_unused=*/true),
                     product);
  return product;
}

}  // namespace batchplus
