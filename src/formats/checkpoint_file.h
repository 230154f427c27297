#pragma once

#include <span>
#include <string>
#include <string_view>

#include "formats/state_dict_file.h"
#include "util/hash.h"

namespace batchplus {

/// Names of a state dict that are not the network's.
inline constexpr std::string_view kReservedPrefix = "batchplus.";
/// The text (bytes of JSON) of a checkpoint, and the SHA-256 (in hexadecimal) over everything else in it.
inline constexpr std::string_view kCheckpointText = "batchplus.state";
inline constexpr std::string_view kCheckpointSha256 = "batchplus.sha256";

/// A checkpoint as its file holds it: a state dict of the network's tensors, more tensors under reserved
/// names, and a text.
struct CheckpointFile {
  std::string text;
  /// All tensors but the text and the checksum.
  StateDictFile state;
};

/// An Error unless the file is complete and its checksum is right. `where` names it.
CheckpointFile read_checkpoint_file(std::string_view bytes, const std::string& where);

/// What weights_sha256 and a checkpoint's checksum are made of: name, shape and values, in C order.
void add_tensor(Hash& hash, std::string_view name, std::span<const int64_t> sizes, std::string_view values);

}  // namespace batchplus
