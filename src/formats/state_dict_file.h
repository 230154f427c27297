#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/archive.h"
#include "formats/pickle_reader.h"

namespace batchplus {

/// Names of a state dict that are not the network's: a checkpoint has more than weights.
inline constexpr std::string_view kReservedPrefix = "batchplus.";

/// A PyTorch state dict as its file holds it: the storages' bytes and the tensors that view them.
struct StateDictFile {
  ArchiveFiles storages;
  std::vector<StoredTensor> tensors;
  UnknownValues unknown;
  /// Whether the file holds these tensors, and nothing else.
  bool is_all = true;
};

/// Reads what torch.save(model.state_dict(), file) writes, in the zip layout or in the one before torch 1.6,
/// also nested under "state_dict". Every tensor lies within its storage. Nothing in the
/// file is executed. `where` names it in errors.
StateDictFile read_state_dict_file(std::string_view bytes, const std::string& where);

/// SHA-256 over names, shapes and values: what networks/weight_file.h has of tensors, of a file without
/// libtorch.
std::string weights_sha256(const StateDictFile& file);

}  // namespace batchplus
