#include "metrics/objective_function.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/forward_grad.h>

#include <numeric>

#include "core/tangent.h"
#include "metrics/layer_pass.h"
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
  const auto pass_chunk = [&](const SharedChunks::Chunk& chunk) {
    return pass(samples_.batch(chunk.begin, chunk.count));
  };
  return chunks().sum(parameters_.values(), pass_chunk, options_.on_samples).div_(divisor());
}

double ObjectiveFunction::value() const {
  const torch::NoGradGuard no_grad;
  const EvaluationMode evaluation(model_);
  const SharedChunks all = chunks();
  std::vector<double> sums(static_cast<size_t>(all.number()));
  const auto pass = [&](const SharedChunks::Chunk& chunk) {
    const Batch batch = samples_.batch(chunk.begin, chunk.count);
    const torch::Tensor losses = options_.loss(model_.forward(batch.images), batch.labels);
    sums[static_cast<size_t>(chunk.number)] = losses.sum(torch::kFloat64).item<double>();
  };
  all.for_each(pass, options_.on_samples);
  all.gather(sums.data(), 1);
  return std::accumulate(sums.begin(), sums.end(), 0.0) / divisor();
}

torch::Tensor ObjectiveFunction::of_first_rank(const torch::Tensor& v) const {
  if (options_.group == nullptr || options_.group->is_solo()) return v;
  const torch::Tensor same = v.clone();
  options_.group->broadcast(same.data_ptr(), static_cast<int64_t>(same.nbytes()));
  return same;
}

double ObjectiveFunction::value_at(const torch::Tensor& point) const {
  const AtPoint moved(parameters_, of_first_rank(point));
  return value();
}

torch::Tensor ObjectiveFunction::gradient() const {
  const torch::AutoGradMode with_grad(true);
  const auto pass = [&](const Batch& batch) {
    const torch::Tensor flat = torch::empty_like(parameters_.values());
    const GradientTarget target(parameters_, flat);
    const torch::Tensor loss = options_.loss(model_.forward(batch.images), batch.labels).sum();
    parameters_.gather(torch::autograd::grad({loss}, parameters_.tensors(), {}, /*retain_graph=*/false,
                                             /*create_graph=*/false, /*allow_unused=*/true),
                       flat);
    return flat;
  };
  return sum_over_chunks(pass).to(parameters_.values().scalar_type());
}

torch::Tensor ObjectiveFunction::sample_gradient(int64_t i) const {
  const Samples one{1, [&](int64_t, int64_t) { return samples_.batch(i, 1); }};
  return ObjectiveFunction(model_, parameters_, one, {.loss = options_.loss}).gradient();
}

torch::Tensor ObjectiveFunction::hessian_product(const torch::Tensor& v) const {
  const torch::AutoGradMode with_grad(true);
  const torch::Tensor direction = of_first_rank(v);
  const auto pass = [&](const Batch& batch) {
    if (is_forward_differentiable_) {
      try {
        return reverse_over_forward(batch, direction);
      } catch (const c10::Error&) {
        // Mostly an operation without a forward derivative. What is wrong besides shows again.
        is_forward_differentiable_ = false;
      }
    }
    return reverse_over_reverse(batch, direction);
  };
  return sum_over_chunks(pass).to(v.scalar_type());
}

// H v is the gradient of the gradient's product with v, which a forward pass with tangents gives.
torch::Tensor ObjectiveFunction::reverse_over_forward(const Batch& batch, const torch::Tensor& v) const {
  const torch::Tensor product = torch::zeros_like(v);
  const torch::Tensor along_v = derivatives_along(batch, v);
  if (!along_v.defined() || !along_v.requires_grad()) return product;
  parameters_.gather(torch::autograd::grad({along_v.sum()}, parameters_.tensors(), {}, /*retain_graph=*/false,
                                           /*create_graph=*/false, /*allow_unused=*/true),
                     product);
  return product;
}

torch::Tensor ObjectiveFunction::derivatives_along(const Batch& batch, const torch::Tensor& v) const {
  // They end here: in the backward pass libtorch would carry them on.
  const Tangents tangents(parameters_, v);
  return tangent::of(options_.loss(model_.forward(batch.images), batch.labels));
}

torch::Tensor ObjectiveFunction::reverse_over_reverse(const Batch& batch, const torch::Tensor& v) const {
  // Own kernels have first derivatives only.
  const KernelsInScope by_libtorch(*model_.module, Kernels::kAten);
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
