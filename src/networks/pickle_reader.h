#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/torch.h"

namespace batchplus {

/// Name and tensor, in the order of the file or module.
using StateDict = std::vector<std::pair<std::string, torch::Tensor>>;

/// Reads the tensors of a pickled state dict: the part of the pickle protocol that torch.save writes for
/// dictionaries of tensors. Nothing is ever called or imported: the few constructors that occur are
/// recognised by name, and every other object becomes an empty value. A dictionary under the key "state_dict"
/// is preferred to the outermost one. `storages` maps a storage's key to its bytes; `where` names the file in
/// errors.
StateDict read_pickled_state_dict(const std::string& pickle,
                                  const std::map<std::string, std::string>& storages,
                                  const std::string& where);

}  // namespace batchplus
