#include "run/memory_estimate.h"

#include <fmt/format.h>

#include "networks/measure.h"
#include "util/available_memory.h"
#include "util/error.h"
#include "util/text.h"

namespace batchplus {
namespace {

/// What a run takes before its network: the program with libtorch, and a dataset while it is read. Measured:
/// 216 MiB for an mlp on the synthetic samples, and 470 MiB more for CIFAR-10's 147 MiB of training images.
double process_bytes(const DatasetInfo& info) {
  constexpr double kProgram = 180 << 20;
  constexpr double kReading = 3.2;
  return kProgram +
         kReading * static_cast<double>(info.train_samples * info.channels * info.side * info.side);
}

/// The outer batch that is used and the one that is prepared, as floats.
double batch_bytes(int64_t outer_batch, const DatasetInfo& info) {
  constexpr int64_t kBuffers = 2;
  return static_cast<double>(kBuffers * outer_batch * info.channels * info.side * info.side) * sizeof(float);
}

}  // namespace

NetworkMemory measure_network_memory(const Model& model, const DatasetInfo& info) {
  return {.sample_bytes = static_cast<double>(measure_sample_bytes(model, info.channels, info.side)),
          .parameters = count_parameters(*model.module)};
}

double estimate_memory(const RunPlan& plan, const NetworkMemory& network) {
  const DatasetInfo& dataset = plan.data.dataset;
  // The weights, and what the method keeps besides; an average, and the weights while it is in their place.
  const int64_t vectors = 1 + plan.method.vectors(network.parameters) + (plan.average > 0 ? 2 : 0);
  const double vector_bytes = static_cast<double>(vectors * network.parameters) * sizeof(float);
  return process_bytes(dataset) + batch_bytes(plan.method.sizes.outer_batch, dataset) +
         network.sample_bytes * static_cast<double>(plan.method.sizes.inner_batch) + vector_bytes;
}

void require_memory(const RunPlan& plan) {
  const NetworkMemory network = measure_network_memory(build_network(plan.network), plan.data.dataset);
  const double needed = estimate_memory(plan, network);
  const AvailableMemory there = available_memory();
  if (needed <= static_cast<double>(there.bytes)) return;
  throw Error("the run needs more memory than there is",
              {fmt::format("{} on {}", plan.complete.model, plan.complete.dataset),
               fmt::format("about {} needed, {} left on {}", format_bytes(needed),
                           format_bytes(static_cast<double>(there.bytes)), there.limited_by),
               fmt::format("a step takes {} a sample of an inner batch of {}, a vector of all parameters {}",
                           format_bytes(network.sample_bytes), plan.method.sizes.inner_batch,
                           format_bytes(static_cast<double>(network.parameters) * sizeof(float)))});
}

}  // namespace batchplus
