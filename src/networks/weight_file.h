#pragma once

#include <filesystem>
#include <string>

#include "formats/state_dict_file.h"
#include "networks/state_dict.h"

namespace batchplus {

/// What torch.save(model.state_dict(), file) writes, in all layouts that read_state_dict_file takes.
StateDictFile read_weight_file(const std::filesystem::path& path);

/// The tensors of such a file.
StateDict to_tensors(StateDictFile file);
StateDict read_weights(const std::filesystem::path& path);

/// Copies the file's tensors into the module as load_state_dict does. `where` names the file. An Error when
/// one of them is not finite.
void load_weights(torch::nn::Module& module, StateDictFile file, const std::string& where);

/// What to know of the weights of a file, in words: a checkpoint of a run with `--average` has those of
/// training under the network's names, and not the average. Empty: nothing.
std::string note_on_weights(const StateDictFile& file);

/// The bytes of a file that torch.load returns as an OrderedDict of tensors, `weights_only` included.
std::string encode_weights(const StateDict& state);

/// The same as a file. Atomic.
void write_weights(const std::filesystem::path& path, const StateDict& state);

/// SHA-256 over names, shapes and values.
std::string weights_sha256(const StateDict& state);

}  // namespace batchplus
