#include "checkpoint/storage.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "networks/weight_file.h"
#include "store/checkpoint_file.h"
#include "util/error.h"
#include "util/file.h"

namespace batchplus {
namespace fs = std::filesystem;
namespace {

torch::Tensor to_tensor(const std::string& text) {
  const torch::Tensor bytes = torch::empty({static_cast<int64_t>(text.size())}, torch::kUInt8);
  std::copy(text.begin(), text.end(), bytes.data_ptr<uint8_t>());
  return bytes;
}

std::string encode(const CheckpointContents& contents) {
  NamedTensors entries = contents.tensors;
  entries.emplace_back(kCheckpointText, to_tensor(contents.state.dump()));
  entries.emplace_back(kCheckpointSha256, to_tensor(weights_sha256(entries)));
  return encode_weights(entries);
}

CheckpointContents decode(const std::string& bytes, const std::string& where) {
  CheckpointFile file = read_checkpoint_file(bytes, where);
  Json state = parse_state(file, where);
  return {std::move(state), to_tensors(std::move(file.state))};
}

}  // namespace

CheckpointContents read_contents(const fs::path& path) {
  return decode(read_file(path), path.string());
}

std::string encode_checkpoint(const Checkpoint& checkpoint) {
  return encode({to_json(checkpoint), checkpoint.tensors});
}

Checkpoint decode_checkpoint(const std::string& bytes, const std::string& where) {
  CheckpointContents contents = decode(bytes, where);
  return to_checkpoint(contents.state, std::move(contents.tensors), where);
}

void save_checkpoint(const RunLayout& layout, const Checkpoint& checkpoint) {
  save_contents(layout, {to_json(checkpoint), checkpoint.tensors});
}

void save_contents(const RunLayout& layout, const CheckpointContents& contents) {
  PendingFile file(layout.checkpoint(), encode(contents));
  read_contents(file.path());
  if (fs::exists(layout.checkpoint())) {
    require_replaceable(layout.previous_checkpoint(), "");
    std::error_code problem;
    fs::rename(layout.checkpoint(), layout.previous_checkpoint(), problem);
    if (problem) throw_system_error("cannot write file", layout.previous_checkpoint(), problem.value());
  }
  file.commit();
}

void drop_previous_checkpoint(const RunLayout& layout) {
  fs::remove(layout.previous_checkpoint());
}

std::optional<LoadedCheckpoint> load_checkpoint(const RunLayout& layout) {
  std::string problem;
  for (const fs::path& path : {layout.checkpoint(), layout.previous_checkpoint()}) {
    if (!fs::exists(path)) continue;
    std::optional<CheckpointContents> file;
    try {
      file = read_contents(path);
    } catch (const Error& damage) {
      problem +=
          fmt::format("{}{}: {}", problem.empty() ? "" : "; ", path.filename().string(), damage.summary());
      continue;
    }
    return LoadedCheckpoint{to_checkpoint(file->state, std::move(file->tensors), path.string()), problem};
  }
  if (problem.empty()) return std::nullopt;
  throw Error("no checkpoint of the run can be read",
              {layout.root.string(), problem, "restore the files, or remove the directory to begin anew"});
}

}  // namespace batchplus
