#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace batchplus {

/// Keys stay in the order in which they are written.
using Json = nlohmann::ordered_json;

/// The format that this program writes into status.json. Readers accept this and every older version.
inline constexpr int kRunFormatVersion = 1;

/// Where the files of a run are. docs/run-directory.md describes each of them.
struct RunLayout {
  std::filesystem::path root;
  std::filesystem::path config() const { return root / "config.toml"; }
  std::filesystem::path provenance() const { return root / "provenance.json"; }
  std::filesystem::path metrics() const { return root / "metrics.jsonl"; }
  std::filesystem::path status() const { return root / "status.json"; }
  /// Event files for TensorBoard.
  std::filesystem::path events() const { return root / "tensorboard"; }
  std::filesystem::path weights() const { return root / "weights.pt"; }
};

/// Writes a new run directory. A directory that already holds a run is refused and left as it is.
class RunWriter {
 public:
  RunWriter(const std::filesystem::path& root, const std::string& config_toml, const Json& provenance);

  /// Appends one record to metrics.jsonl.
  void record(const Json& record);
  /// Replaces status.json; `status` is "running", "done" or "diverged", and `result` is merged in.
  void set_status(const std::string& status, const Json& result);
  const RunLayout& layout() const { return layout_; }

 private:
  RunLayout layout_;
};

/// What a run directory holds, read back.
struct RunRecord {
  std::string config_toml;
  Json provenance;
  Json status;
  std::vector<Json> metrics;
};

RunRecord read_run(const std::filesystem::path& root);

/// "running", "done" or "diverged"; empty where there is no run, or none that can be read.
std::string read_status_word(const std::filesystem::path& root);

}  // namespace batchplus
