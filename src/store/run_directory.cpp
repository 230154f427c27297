#include "store/run_directory.h"

#include <fmt/format.h>

#include "store/lost_status.h"
#include "store/status_text.h"
#include "store/sweep_directory.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/file.h"
#include "util/hash.h"
#include "util/own_checksum.h"
#include "util/text.h"

namespace batchplus {
namespace fs = std::filesystem;
namespace {

constexpr const char* kFormatVersion = "format_version";
constexpr const char* kUpdated = "updated";
constexpr const char* kConfigChecksum = "config_sha256";
constexpr const char* kDamagedHint = "the file is damaged; restore it or remove the run";
constexpr const char* kLostHint = "restore it or remove the run";

Json parse_json(const std::string& text, const std::string& where) {
  try {
    return Json::parse(text);
  } catch (const Json::exception& problem) {
    throw Error("not valid JSON", {where, problem.what(), kDamagedHint});
  }
}

/// A run that was cut short or diverged in its first epoch has none.
bool should_have_records(const Json& status) {
  return status.contains(kMetricsChecksum) && status[kMetricsChecksum] != sha256_hex("");
}

/// An Error unless a run can begin there.
void require_place_for_run(const RunLayout& layout, RunWriter::Leftover leftover) {
  const bool has_leftover = leftover == RunWriter::Leftover::kRefuse && fs::exists(layout.config());
  if (layout.holds_run() || has_leftover) {
    throw Error("the directory already holds a run",
                {"out", layout.root.string(), "name another directory, or go on with this run by {resume}"});
  }
  if (fs::exists(SweepDirectory{layout.root}.description())) {
    throw Error("the directory is that of a sweep",
                {"out", layout.root.string(), "name another directory: the runs of a sweep are in 'runs'"});
  }
  // A run that cannot write one of its files does not begin with the others.
  for (const fs::path& file : layout.files()) require_replaceable(file, "");
  std::vector<fs::path> others = {layout.metrics(), layout.weights()};
  if (leftover == RunWriter::Leftover::kRefuse) others.push_back(layout.provenance());
  for (const fs::path& file : others) {
    if (!fs::exists(file)) continue;
    throw Error("the directory holds a file that the run would replace",
                {"out", file.string(), "name another directory"});
  }
}

}  // namespace

bool has_ended(const Json& status) {
  return status["status"] == "done" || status["status"] == "diverged";
}

std::vector<fs::path> RunLayout::files() const {
  return {config(),     provenance(),          metrics(), status(),
          checkpoint(), previous_checkpoint(), weights(), lock()};
}

bool RunLayout::holds_run() const {
  return fs::exists(status()) || fs::exists(checkpoint()) || fs::exists(previous_checkpoint());
}

RunWriter::RunWriter(const fs::path& root) : layout_{root} {
  lock();
}

RunWriter::RunWriter(const fs::path& root, const std::string& config_toml, const Json& provenance,
                     Leftover leftover)
    : layout_{root} {
  // Where no run was yet, a refusal does not leave a lock behind.
  if (!fs::exists(layout_.lock())) require_place_for_run(layout_, leftover);
  lock();
  require_place_for_run(layout_, leftover);
  begin(config_toml, provenance);
}

void RunWriter::lock() {
  make_directories(layout_.root);
  lock_ = FileLock::try_lock(layout_.lock());
  if (!lock_) {
    throw Error("another process is at work in the run directory",
                {layout_.root.string(), holder_of(layout_.lock()), "wait for it, or name another directory"});
  }
  lock_->sign();
}

void RunWriter::begin(const std::string& config_toml, const Json& provenance) {
  config_ = config_toml;
  write_file_atomically(layout_.config(), config_toml);
  write_provenance(provenance);
  set_status("running", {{"threads", provenance.value("threads", 0)}});
}

Json inputs_of(const Json& provenance) {
  std::vector<Json> processes = {provenance};
  const Json resumed = provenance.value("resumed", Json::array());
  processes.insert(processes.end(), resumed.begin(), resumed.end());
  for (const Json& process : processes) {
    if (process.is_object() && process.contains(kInputs) && process[kInputs].is_object())
      return process[kInputs];
  }
  return Json::object();
}

void RunWriter::resume(const std::string& config_toml, const Json& provenance, const std::string& records) {
  for (const fs::path& file : layout_.files()) remove_pending_files(file);
  config_ = config_toml;
  records_ = records;
  Json history = fs::exists(layout_.provenance())
                     ? Json::parse(read_file(layout_.provenance()), nullptr, /*allow_exceptions=*/false)
                     : Json();
  if (!history.is_object()) history = provenance;
  Json& resumed = history["resumed"];
  if (!resumed.is_array()) resumed = Json::array();
  Json ours = provenance;
  // They are compared before, and stand there once.
  if (!inputs_of(history).empty()) ours.erase(kInputs);
  resumed.push_back(std::move(ours));
  write_file_atomically(layout_.config(), config_toml);
  write_provenance(history);
  write_file_atomically(layout_.metrics(), records);
  set_status("running", {{"threads", provenance.value("threads", 0)}});
}

void RunWriter::write_provenance(const Json& provenance) {
  provenance_ = provenance.dump(2) + "\n";
  write_file_atomically(layout_.provenance(), provenance_);
}

void RunWriter::drop_status() {
  fs::remove(layout_.status());
}

void RunWriter::record(const Json& record) {
  const std::string line = record.dump();
  append_line(layout_.metrics(), line);
  records_ += line + "\n";
}

void RunWriter::write_weights(const std::string& bytes) {
  write_file_atomically(layout_.weights(), bytes);
  weights_checksum_ = sha256_hex(bytes);
}

void RunWriter::set_status(const std::string& status, const Json& result) {
  Json content = {{kFormatVersion, kRunFormatVersion}, {"status", status}, {kUpdated, utc_timestamp()}};
  content.update(result);
  content[kConfigChecksum] = sha256_hex(config_);
  if (has_ended(content)) {
    // Synced, so that the checksum does not outlive what it is of.
    if (!records_.empty()) write_file_atomically(layout_.metrics(), records_);
    content[kMetricsChecksum] = sha256_hex(records_);
    content[kProvenanceChecksum] = sha256_hex(provenance_);
    if (!weights_checksum_.empty()) content[kWeightsFileChecksum] = weights_checksum_;
  }
  add_own_checksum(content);
  write_file_atomically(layout_.status(), content.dump(2) + "\n");
}

Json read_status(const RunLayout& layout) {
  const std::string where = layout.status().string();
  if (!fs::exists(layout.status()) && (layout.holds_run() || has_lost_status(layout)))
    throw Error("it is missing", {where, "", kLostHint});
  return parse_status(read_file(layout.status()), where);
}

Json parse_status(const std::string& text, const std::string& where) {
  Json status = parse_json(text, where);
  const bool is_status = status.is_object() && status.contains("status") && status["status"].is_string() &&
                         status.contains(kFormatVersion) && status[kFormatVersion].is_number_integer();
  if (!is_status) throw Error("not the status of a run", {where, "", kDamagedHint});
  const auto version = status[kFormatVersion].get<int64_t>();
  if (version < 1 || version > kRunFormatVersion) {
    throw Error("the run has a format that this program does not know",
                {where, std::to_string(version), "use a newer batchplus"});
  }
  if (version == 1 && !status.contains(kConfigChecksum)) return status;
  if (!take_own_checksum(status).value_or(false)) {
    throw Error("the file is not as it was written", {where, "its checksum is wrong", kDamagedHint});
  }
  return status;
}

Json result_of(Json status) {
  for (const char* key : {kFormatVersion, kUpdated, kConfigChecksum, kMetricsChecksum, kProvenanceChecksum,
                          kWeightsFileChecksum})
    status.erase(key);
  return status;
}

std::string read_config(const RunLayout& layout) {
  const Json status = read_status(layout);
  std::string config = read_file(layout.config());
  require_config_of(status, config, layout.config());
  return config;
}

void require_config_of(const Json& status, const std::string& config_toml, const fs::path& path) {
  require_checksum(status, kConfigChecksum, sha256_hex(config_toml), path);
}

bool has_records(const RunLayout& layout) {
  std::error_code problem;
  const auto bytes = fs::file_size(layout.metrics(), problem);
  return (!problem && bytes > 0) || !should_have_records(read_status(layout));
}

std::string read_records(const RunLayout& layout, const Json& status) {
  const bool is_there = fs::exists(layout.metrics());
  if (!is_there && should_have_records(status))
    throw Error("it is missing", {layout.metrics().string(), "", kLostHint});
  std::string records = is_there ? read_file(layout.metrics()) : "";
  require_checksum(status, kMetricsChecksum, sha256_hex(records), layout.metrics());
  return records;
}

Json read_provenance(const RunLayout& layout, const Json& status) {
  if (!fs::exists(layout.provenance()))
    throw Error("it is missing", {layout.provenance().string(), "", kLostHint});
  const std::string text = read_file(layout.provenance());
  Json provenance = parse_json(text, layout.provenance().string());
  if (!provenance.is_object())
    throw Error("not the provenance of a run", {layout.provenance().string(), "", kDamagedHint});
  require_checksum(status, kProvenanceChecksum, sha256_hex(text), layout.provenance());
  return provenance;
}

StoredRun read_run(const fs::path& root) {
  const RunLayout layout{root};
  StoredRun run;
  run.status = read_status(layout);
  run.config_toml = read_file(layout.config());
  require_config_of(run.status, run.config_toml, layout.config());
  run.provenance = read_provenance(layout, run.status);
  const std::string metrics = read_records(layout, run.status);
  int line_number = 0;
  for (const auto& line : split(metrics.substr(0, metrics.rfind('\n') + 1), '\n')) {
    ++line_number;
    if (line.empty()) continue;
    run.metrics.push_back(parse_json(line, fmt::format("{}:{}", layout.metrics().string(), line_number)));
  }
  return run;
}

void require_checksum(const Json& status, const std::string& key, const std::string& computed,
                      const fs::path& path) {
  if (!status.contains(key) || status[key] == computed) return;
  throw Error("the file is not as it was written", {path.string(), "SHA-256 " + computed, kDamagedHint});
}

std::string describe_statistics(const std::string& batchnorm) {
  if (batchnorm == "eval") return "evaluation statistics";
  return batchnorm == "batch" ? "batch statistics" : "unknown statistics";
}

std::string read_status_word(const fs::path& root) {
  const RunLayout layout{root};
  if (!fs::exists(layout.status())) return "";
  try {
    return read_status(layout)["status"].get<std::string>();
  } catch (const Error&) {
    return "";
  }
}

}  // namespace batchplus
