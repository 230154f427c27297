#pragma once

#include <string>
#include <string_view>

#include "formats/state_dict_file.h"
#include "util/json.h"

namespace batchplus {

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

/// The text as JSON; an Error when it is none.
Json parse_state(const CheckpointFile& file, const std::string& where);

}  // namespace batchplus
