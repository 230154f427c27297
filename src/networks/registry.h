#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "networks/model.h"

namespace batchplus {

/// What a network is built for.
struct NetworkOptions {
  int64_t channels = 3;
  int64_t side = 32;
  int64_t classes = 10;
  /// The network's own default when not given; an Error for a network without dropout.
  std::optional<double> dropout = std::nullopt;
};

/// A row of the table of networks.
struct NetworkInfo {
  std::string name;
  std::string description;
  bool has_dropout;
  std::function<Model(const NetworkOptions&)> build;
};

const std::vector<NetworkInfo>& networks();

/// The row with that name, or an Error that suggests the nearest one.
const NetworkInfo& find_network(const std::string& name);

/// Builds it with weights that depend on `seed` alone: those of torch.manual_seed(seed) and the same modules.
Model build_network(const NetworkInfo& info, const NetworkOptions& options, uint64_t seed);

int64_t count_parameters(const torch::nn::Module& module);

/// Multiply-accumulate operations of convolutions and matrix products in one forward pass over one image,
/// counted while it runs. [1,channels,side,side]
int64_t count_macs(const Model& model, int64_t channels, int64_t side);

}  // namespace batchplus
