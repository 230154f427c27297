#pragma once

#include <filesystem>
#include <string>

#include "core/named_tensors.h"
#include "formats/state_dict_file.h"

namespace batchplus {

/// In the order of the file or module.
using StateDict = NamedTensors;

/// Parameters and buffers with the names and the order of PyTorch's state_dict(). The tensors are the
/// module's own.
StateDict state_dict(const torch::nn::Module& module);

/// Copies `state` into the module. A leading "module." is stripped; num_batches_tracked may be missing; what
/// a checkpoint holds besides the network is passed over.
/// All missing, unexpected and wrong-shaped names are listed in one Error, and then nothing was changed.
void load_state_dict(torch::nn::Module& module, StateDict state, const std::string& where);

/// Reads what torch.save(model.state_dict(), file) writes (zip format), also nested under "state_dict".
StateDict read_weights(const std::filesystem::path& path);

/// The tensors of such a file once it is in memory.
StateDict to_tensors(StateDictFile file);

/// The bytes of a file that torch.load returns as an OrderedDict of tensors, `weights_only` included.
std::string encode_weights(const StateDict& state);

/// The same as a file. Atomic.
void write_weights(const std::filesystem::path& path, const StateDict& state);

/// SHA-256 over names, shapes and values.
std::string weights_sha256(const StateDict& state);

}  // namespace batchplus
