#include "run/run_parts.h"

#include <fmt/format.h>

#include "layers/batch_norm.h"
#include "networks/weight_file.h"
#include "util/error.h"

namespace batchplus {
namespace {

/// The plan's network with its initial weights, on the device.
Model initial_network(const NetworkPlan& plan, torch::Device device) {
  Model model = build_network(plan);
  if (!plan.init.empty()) load_weights(*model.module, read_weight_file(plan.init), plan.init);
  model.module->to(device);
  return model;
}

void require_affordable(const TrainOptions& options, const Method& method) {
  const int64_t cost = method.cost(method.outer_batch_size());
  if (!options.budget_sample_gradients || cost <= *options.budget_sample_gradients) return;
  throw Error("the budget does not allow a single outer batch",
              {"budget_epochs", fmt::format("{} sample gradients", *options.budget_sample_gradients),
               fmt::format("one outer batch costs {}", cost)});
}

GradientOracle::Options shared(const RunPlan& plan, const Sharing& sharing) {
  GradientOracle::Options objective = plan.objective;
  objective.sharing = sharing;
  if (plan.complete.local_batch_norm > 0) objective.sharing.moments = kernels::SampleShare::Moments::kOfShare;
  return objective;
}

/// Who asks for moments of each process has a network with moments.
void require_batch_norm(const RunPlan& plan, const torch::nn::Module& module) {
  if (plan.complete.local_batch_norm == 0) return;
  for (const auto& part : module.modules()) {
    if (dynamic_cast<const BatchNorm*>(part.get()) != nullptr) return;
  }
  throw Error("the network has no BatchNorm", {"batch_norm", "local", "leave {batch_norm} out"});
}

}  // namespace

RunParts::RunParts(const RunPlan& plan, const RunData& data, torch::Device device, const Sharing& sharing)
    : model(initial_network(plan.network, device)),
      parameters(*model.module),
      oracle(model, parameters, budget, shared(plan, sharing)),
      method(build_method(plan.method, oracle)),
      source(data.views.train,
             ImageTransform(plan.data.normalization, plan.data.is_augmented, plan.data.cutout),
             {.seed = plan.seed,
              .sampling = plan.data.sampling,
              .inner_size = plan.method.sizes.inner_batch,
              .device = device,
              .mixup = plan.data.mixup,
              .memory_format = model.memory_format}),
      batches(source) {
  require_batch_norm(plan, *model.module);
  if (plan.warmup_method) warmup_method.emplace(build_method(*plan.warmup_method, oracle));
  if (plan.average > 0) {
    average.emplace(*model.module, parameters, plan.average);
    for (Method* of_run : {&method, warmup()}) {
      if (of_run != nullptr) of_run->set_after_step([this] { average->add(); });
    }
  }
  require_affordable(plan.train, warmup_method ? *warmup_method : method);
}

}  // namespace batchplus
