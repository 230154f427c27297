#pragma once

#include <filesystem>
#include <optional>

#include "checkpoint/checkpoint.h"
#include "store/run_directory.h"

namespace batchplus {

/// A checkpoint as its file holds it.
struct CheckpointContents {
  Json state;
  NamedTensors tensors;
};

/// The checkpoint's file as bytes, and back; `where` names it in an Error.
std::string encode_checkpoint(const Checkpoint& checkpoint);
Checkpoint decode_checkpoint(const std::string& bytes, const std::string& where);

/// Writes checkpoint.pt: to a temporary file, synced and read back, and only then in place of the one before,
/// which stays as checkpoint.previous.pt.
void save_checkpoint(const RunLayout& layout, const Checkpoint& checkpoint);
void save_contents(const RunLayout& layout, const CheckpointContents& contents);

/// The run has ended and its weights are written: nobody will go on from the one before.
void drop_previous_checkpoint(const RunLayout& layout);

/// An Error when the file is damaged: its checksum covers all of it.
CheckpointContents read_contents(const std::filesystem::path& path);

struct LoadedCheckpoint {
  Checkpoint checkpoint;
  /// What was wrong with the newest one, if this is the one before; else empty.
  std::string problem;
};

/// The newest checkpoint of a run that is whole; nothing when there is none. An Error when all that there are
/// are damaged, or the format is another one.
std::optional<LoadedCheckpoint> load_checkpoint(const RunLayout& layout);

}  // namespace batchplus
