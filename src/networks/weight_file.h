#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/torch.h"

namespace batchplus {

/// Name and tensor, in the order of the file or module.
using StateDict = std::vector<std::pair<std::string, torch::Tensor>>;

/// Parameters and buffers with the names and the order of PyTorch's state_dict(). The tensors are the
/// module's own.
StateDict state_dict(const torch::nn::Module& module);

/// Copies `state` into the module. A leading "module." is stripped; num_batches_tracked may be missing.
/// All missing, unexpected and wrong-shaped names are listed in one Error, and then nothing was changed.
void load_state_dict(torch::nn::Module& module, StateDict state, const std::string& where);

/// Reads what torch.save(model.state_dict(), file) writes (zip format), also nested under "state_dict".
StateDict read_weights(const std::filesystem::path& path);

/// Writes a file that torch.load returns as an OrderedDict of tensors, `weights_only` included. Atomic.
void write_weights(const std::filesystem::path& path, const StateDict& state);

/// SHA-256 over names, shapes and values.
std::string weights_sha256(const StateDict& state);

}  // namespace batchplus
