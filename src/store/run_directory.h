#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "util/file_lock.h"
#include "util/json.h"

namespace batchplus {

/// The format that this program writes into status.json. Readers accept this and every older version: 1 had
/// no checksums.
inline constexpr int kRunFormatVersion = 2;

/// Keys of status.json that hold the SHA-256 of metrics.jsonl and of the final weights: names, shapes and
/// values, whatever file they are in.
inline constexpr const char* kMetricsChecksum = "metrics_sha256";
inline constexpr const char* kWeightsChecksum = "weights_sha256";
/// That of the file weights.pt itself. Runs from before have none.
inline constexpr const char* kWeightsFileChecksum = "weights_file_sha256";
/// That of provenance.json of a run that has ended. Runs from before have none.
inline constexpr const char* kProvenanceChecksum = "provenance_sha256";

/// Key of provenance.json that holds digests of what a run was given besides its config: `train`, `test` and
/// `validation` samples, `init` weights. Runs from before have none.
inline constexpr const char* kInputs = "inputs";

/// Where the files of a run are. docs/run-directory.md describes each of them.
struct RunLayout {
  std::filesystem::path root;
  std::filesystem::path config() const { return root / "config.toml"; }
  std::filesystem::path provenance() const { return root / "provenance.json"; }
  std::filesystem::path metrics() const { return root / "metrics.jsonl"; }
  std::filesystem::path status() const { return root / "status.json"; }
  /// Event files for TensorBoard.
  std::filesystem::path events() const { return root / "tensorboard"; }
  std::filesystem::path checkpoint() const { return root / "checkpoint.pt"; }
  std::filesystem::path previous_checkpoint() const { return root / "checkpoint.previous.pt"; }
  std::filesystem::path weights() const { return root / "weights.pt"; }
  std::filesystem::path lock() const { return root / "lock"; }

  /// All files above.
  std::vector<std::filesystem::path> files() const;

  /// Whether a run has begun here.
  bool holds_run() const;
};

/// Writes a run directory, which no other process can write meanwhile.
class RunWriter {
 public:
  /// Creates the directory if need be and locks it. An Error when another process has it.
  explicit RunWriter(const std::filesystem::path& root);
  /// What to do with a config.toml of a run that did not begin: it may be somebody's own.
  enum class Leftover { kRefuse, kReplace };
  /// The same and begins a run in it. Where one cannot begin, because there is a run already or a file that
  /// it would replace, everything is left as it is, and not even a lock is added.
  RunWriter(const std::filesystem::path& root, const std::string& config_toml, const Json& provenance,
            Leftover leftover = Leftover::kRefuse);

  /// Goes on with the run that is there. metrics.jsonl holds `records` afterwards, whatever it held before;
  /// what this process is gets added to provenance.json.
  void resume(const std::string& config_toml, const Json& provenance, const std::string& records);

  /// Before resume() with another config.toml than the one that status.json vouches for: the two cannot
  /// change at once, and without a status the checkpoint speaks for the run.
  void drop_status();

  /// Appends one record to metrics.jsonl.
  void record(const Json& record);
  /// Writes the bytes of weights.pt, for whose checksum status.json then vouches.
  void write_weights(const std::string& bytes);
  /// All records so far, as in metrics.jsonl.
  const std::string& records() const { return records_; }
  /// Replaces status.json; `status` is "running", "interrupted", "done" or "diverged", and `result` is merged
  /// in. Checksums tell a reader later whether status.json, config.toml and, of a run that has ended,
  /// metrics.jsonl, provenance.json and weights.pt are as they were written.
  void set_status(const std::string& status, const Json& result);
  const RunLayout& layout() const { return layout_; }

 private:
  void lock();
  void begin(const std::string& config_toml, const Json& provenance);
  void write_provenance(const Json& provenance);

  RunLayout layout_;
  std::unique_ptr<FileLock> lock_;
  std::string config_;
  std::string provenance_;
  std::string records_;
  /// Of weights.pt, once it is written.
  std::string weights_checksum_;
};

/// What a run directory holds, read back.
struct StoredRun {
  std::string config_toml;
  Json provenance;
  Json status;
  std::vector<Json> metrics;
};

/// An Error when a file is damaged. A last line of metrics.jsonl that a killed process did not finish is left
/// out.
StoredRun read_run(const std::filesystem::path& root);

/// status.json alone; an Error when it is damaged.
Json read_status(const RunLayout& layout);
/// Whether a status is that of a run with nothing left to do: "done" or "diverged".
bool has_ended(const Json& status);
/// What a status says of the run and not of its files: the result as the program prints it.
Json result_of(Json status);

/// Whether metrics.jsonl is there and not empty, or the run's status says that it has no records.
bool has_records(const RunLayout& layout);

/// metrics.jsonl as `status` vouches for it; an Error when it is damaged, or missing while it has records.
std::string read_records(const RunLayout& layout, const Json& status);

/// provenance.json; an Error when it is damaged, or not as `status` vouches for it.
Json read_provenance(const RunLayout& layout, const Json& status = Json::object());

/// The digests of a run's inputs in its provenance. A run from before has those of the first process that
/// went on with it and knew them, or none: an empty object.
Json inputs_of(const Json& provenance);

/// The config.toml that status.json vouches for; an Error when either is damaged.
std::string read_config(const RunLayout& layout);

/// An Error that names the file unless `computed` is the SHA-256 which stands under `key` in status.json, if
/// one does.
void require_checksum(const Json& status, const std::string& key, const std::string& computed,
                      const std::filesystem::path& path);

/// What `batchnorm` beside a measured number says, in words: "eval" is "evaluation statistics".
std::string describe_statistics(const std::string& batchnorm);

/// "running", "interrupted", "done" or "diverged"; empty where there is no run, or none that can be read.
std::string read_status_word(const std::filesystem::path& root);

}  // namespace batchplus
