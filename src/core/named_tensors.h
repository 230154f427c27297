#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/torch.h"

namespace batchplus {

/// Names and tensors, in an order that counts.
using NamedTensors = std::vector<std::pair<std::string, torch::Tensor>>;

}  // namespace batchplus
