#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "layers/make_normalization.h"
#include "networks/model.h"

namespace batchplus {

/// What a network is built for.
struct NetworkOptions {
  int64_t channels = 3;
  int64_t side = 32;
  int64_t classes = 10;
  /// The network's own default when not given; an Error for a network without dropout.
  std::optional<double> dropout = std::nullopt;
  /// An Error for a network without such layers, unless it is kBatch.
  NormalizationKind normalization = NormalizationKind::kBatch;
};

/// Numbers that shape a network: depth, width, growth, hidden.
using NetworkSettings = std::map<std::string, int64_t>;

/// A row of the table of networks.
struct NetworkInfo {
  std::string name;
  std::string description;
  /// What `NAME:depth=26,width=32` may change, with the defaults.
  NetworkSettings settings;
  /// Some of them, with which it is small enough for tests that do much with every network.
  NetworkSettings small = {};
  /// Dropout when none is asked for; nothing for a network without dropout layers.
  std::optional<double> dropout = std::nullopt;
  /// Whether it has normalisation layers, of which NetworkOptions choose the kind.
  bool has_normalization = false;
  /// Smaller images vanish in its pools.
  int64_t least_side = 1;
  /// The faster one on a CPU (docs/performance.md has the measurements).
  torch::MemoryFormat memory_format = torch::MemoryFormat::Contiguous;
  /// Options and settings are complete.
  std::function<Model(const NetworkOptions&, NetworkSettings)> build = nullptr;
};

const std::vector<NetworkInfo>& networks();

/// The row for `NAME` or `NAME:setting=number,...`; an Error that suggests the nearest name otherwise.
NetworkInfo find_network(const std::string& name);

/// Builds it with weights that depend on `seed` alone: those of torch.manual_seed(seed) and the same modules.
Model build_network(const NetworkInfo& info, const NetworkOptions& options, uint64_t seed);

int64_t count_parameters(const torch::nn::Module& module);

}  // namespace batchplus
