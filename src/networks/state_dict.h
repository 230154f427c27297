#pragma once

#include <string>

#include "core/named_tensors.h"
#include "formats/pickle_reader.h"

namespace batchplus {

/// In the order of the file or module.
using StateDict = NamedTensors;

/// Parameters and buffers with the names and the order of PyTorch's state_dict(). The tensors are the
/// module's own.
StateDict state_dict(const torch::nn::Module& module);

/// Copies `state` into the module. A leading "module." is stripped; num_batches_tracked may be missing; what
/// a checkpoint holds besides the network is passed over.
/// Missing, unexpected and wrong-shaped names are told in one Error, the first few of each, and then nothing
/// was changed. A missing one that is among `unknown` is told with what made it.
void load_state_dict(torch::nn::Module& module, const StateDict& state, const std::string& where,
                     const UnknownValues& unknown = {});

}  // namespace batchplus
