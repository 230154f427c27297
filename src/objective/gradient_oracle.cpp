#include "objective/gradient_oracle.h"

#include <ATen/ATen.h>
#include <torch/utils.h>

#include <limits>
#include <optional>

#include "kernels/processor.h"
#include "objective/loss.h"
#include "util/error.h"

namespace batchplus {

GradientOracle::GradientOracle(Model model, FlatParameters& parameters, GradientBudget& budget,
                               Options options)
    : model_(std::move(model)),
      kernels_(kernels_of(model_)),
      parameters_(parameters),
      budget_(budget),
      options_(options) {
  const bool is_shared = options_.sharing.group != nullptr && !options_.sharing.group->is_solo();
  if (is_shared &&
      (kernels_ == Kernels::kAten || !kernels::are_available() || !parameters_.values().is_cpu())) {
    throw Error("only own kernels can share a batch out among processes",
                {"kernels", "libtorch's", "use {kernels} fast or direct, on a processor with AVX2"});
  }
  BATCHPLUS_CHECK(options_.sharing.moments == kernels::SampleShare::Moments::kOfBatch ||
                      options_.sharing.sums == kernels::SampleShare::Sums::kLater,
                  "moments of each share do not give the bits of one process");
  if (parameters_.values().scalar_type() == torch::kFloat32) return;
  throw Error(
      "the network is not in single precision",
      {parameters_.slices().front().name, std::string(torch::toString(parameters_.values().scalar_type())),
       "convert the module with to(torch::kFloat32) before training"});
}

void GradientOracle::gradient(const Batch& batch, const torch::Tensor& gradient) {
  compute(batch, gradient, /*is_replay=*/false);
}

void GradientOracle::gradient_at(const torch::Tensor& point, const Batch& batch,
                                 const torch::Tensor& gradient) {
  compute_at(point, batch, gradient, /*is_replay=*/false);
}

void GradientOracle::replay_gradient_at(const torch::Tensor& point, const Batch& batch,
                                        const torch::Tensor& gradient) {
  compute_at(point, batch, gradient, /*is_replay=*/true);
}

void GradientOracle::move_statistics(const Batch& batch) {
  const torch::NoGradGuard no_grad;
  model_.module->train();
  torch::manual_seed(batch.replay_seed);
  const SharedBatch shared(batch, options_.sharing);
  model_.forward(shared.own().images);
  shared.share_statistics(*model_.module);
  budget_.charge_forwards(batch.size());
}

void GradientOracle::compute(const Batch& batch, const torch::Tensor& gradient, bool is_replay) {
  std::optional<BufferSnapshot> buffers;
  if (is_replay) buffers.emplace(*model_.module);
  model_.module->train();
  torch::manual_seed(batch.replay_seed);

  const SharedBatch shared(batch, options_.sharing);
  const Batch& own = shared.own();
  const torch::Tensor loss = mean_cross_entropy(model_.forward(own.images),
                                                {.labels = own.labels,
                                                 .partner_labels = own.partner_labels,
                                                 .label_share = own.label_share,
                                                 .smoothing = options_.label_smoothing},
                                                kernels_);
  // Own kernels write the gradients where they belong. Others arrive as fresh tensors and are copied once:
  // cheaper than accumulating into zeroed memory.
  const std::unique_ptr<GradientSum> sum = shared.sum(parameters_, gradient);
  const GradientTarget target(parameters_, gradient, sum ? sum->listener() : GradientTarget::Listener());
  const auto gradients = torch::autograd::grad({loss}, parameters_.tensors(), /*grad_outputs=*/{},
                                               /*retain_graph=*/false, /*create_graph=*/false,
                                               /*allow_unused=*/true);
  parameters_.gather(gradients, gradient);
  if (sum) sum->finish(gradients);

  budget_.charge_gradients(batch.size());
  if (is_replay) {
    buffers->restore();
  } else {
    shared.share_statistics(*model_.module);
    losses_.sum += loss.item<double>() * static_cast<double>(batch.size());
    losses_.samples += batch.size();
  }
}

void GradientOracle::compute_at(const torch::Tensor& point, const Batch& batch, const torch::Tensor& gradient,
                                bool is_replay) {
  BATCHPLUS_CHECK(point.data_ptr() != parameters_.values().data_ptr(), "the point is another vector than w");
  const torch::NoGradGuard no_grad;
  if (!present_point_.defined()) present_point_ = make_vector();
  present_point_.copy_(parameters_.values());
  parameters_.values().copy_(point);
  {
    const torch::AutoGradMode with_grad(true);
    compute(batch, gradient, is_replay);
  }
  parameters_.values().copy_(present_point_);
}

double GradientOracle::take_mean_loss() {
  const double mean = losses_.samples > 0 ? losses_.sum / static_cast<double>(losses_.samples)
                                          : std::numeric_limits<double>::quiet_NaN();
  losses_ = {};
  return mean;
}

}  // namespace batchplus
