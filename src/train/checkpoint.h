#pragma once

#include <optional>

#include "core/named_tensors.h"
#include "store/run_directory.h"

namespace batchplus {

/// The format that this program writes; checkpoints of another one are refused.
inline constexpr int kCheckpointFormatVersion = 1;

/// A run at one moment: a state dict of the network, more tensors under reserved names (formats/
/// checkpoint_file.h), and everything else as JSON.
struct Checkpoint {
  Json state;
  NamedTensors tensors;
};

/// Writes checkpoint.pt: to a temporary file, synced and read back, and only then in place of the one before,
/// which stays as checkpoint.previous.pt.
void save_checkpoint(const RunLayout& layout, const Checkpoint& checkpoint);

/// An Error when the file is damaged.
Checkpoint read_checkpoint(const std::filesystem::path& path);

struct LoadedCheckpoint {
  Checkpoint checkpoint;
  /// What was wrong with the newest one, if this is the one before; else empty.
  std::string problem;
};

/// The newest checkpoint of a run that is whole; nothing when there is none. An Error when all that there are
/// are damaged, or the format is another one.
std::optional<LoadedCheckpoint> load_checkpoint(const RunLayout& layout);

}  // namespace batchplus
