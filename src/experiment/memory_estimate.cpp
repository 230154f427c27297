#include "experiment/memory_estimate.h"

#include <fmt/format.h>

#include "experiment/method_config.h"
#include "experiment/run_data.h"
#include "networks/measure.h"
#include "networks/registry.h"
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

/// Vectors of all parameters: weights, gradient, momentum, mean, and the snapshot gradients that are kept.
double count_vectors(const RunConfig& config, int64_t inner_batches, int64_t parameters) {
  const bool is_kept = Snapshot::keeps(snapshot_options(config), inner_batches, parameters);
  constexpr double kOthers = 4;
  return kOthers + (is_kept ? static_cast<double>(inner_batches) : 2);
}

}  // namespace

Model network_of(const RunConfig& config, const DatasetInfo& info) {
  Model model = build_network(
      find_network(config.model),
      {.channels = info.channels, .side = info.side, .classes = info.classes, .dropout = config.dropout},
      /*seed=*/1);
  use_kernels(*model.module, kernels_of(config));
  return model;
}

NetworkMemory measure_network_memory(const Model& model, const DatasetInfo& info) {
  NetworkMemory memory;
  memory.sample_bytes = static_cast<double>(measure_sample_bytes(model, info.channels, info.side));
  for (const auto& parameter : model.module->parameters()) memory.parameters += parameter.numel();
  return memory;
}

double estimate_memory(const RunConfig& config, int64_t n, const DatasetInfo& info,
                       const NetworkMemory& network) {
  RunConfig resolved = config;
  resolve_method(resolved, n);
  const int64_t outer_batch = parse_integer(resolved.outer_batch, "--outer-batch");
  const double vectors = count_vectors(resolved, outer_batch / resolved.inner_batch, network.parameters) *
                         static_cast<double>(network.parameters) * sizeof(float);
  return process_bytes(info) + batch_bytes(outer_batch, info) +
         network.sample_bytes * static_cast<double>(resolved.inner_batch) + vectors;
}

void require_memory(const RunConfig& config, int64_t n) {
  const DatasetInfo info = find_dataset(config.dataset);
  const NetworkMemory network = measure_network_memory(network_of(config, info), info);
  const double needed = estimate_memory(config, n, info, network);
  const AvailableMemory there = available_memory();
  if (needed <= static_cast<double>(there.bytes)) return;
  throw Error("the run needs more memory than there is",
              {fmt::format("{} on {}", config.model, config.dataset),
               fmt::format("about {} needed, {} left on {}", format_bytes(needed),
                           format_bytes(static_cast<double>(there.bytes)), there.limited_by),
               fmt::format("a step takes {} a sample of --inner-batch {}, a vector of all parameters {}",
                           format_bytes(network.sample_bytes), config.inner_batch,
                           format_bytes(static_cast<double>(network.parameters) * sizeof(float)))});
}

}  // namespace batchplus
