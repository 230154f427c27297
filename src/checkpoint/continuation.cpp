#include "checkpoint/continuation.h"

#include <fmt/format.h>

#include <algorithm>

#include "checkpoint/storage.h"
#include "config/compare_configs.h"
#include "config/config_toml.h"
#include "store/check_run.h"
#include "util/error.h"
#include "util/file.h"
#include "util/text.h"

namespace batchplus {
namespace fs = std::filesystem;
namespace {

/// The records are lines of JSON objects.
void require_records(const std::string& records, const RunLayout& layout) {
  for (const std::string& line : split(records, '\n')) {
    if (line.empty()) continue;
    const Json record = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    const auto has_number = [&](const char* key) { return record.contains(key) && record[key].is_number(); };
    const bool is_record = record.is_object() && has_number("epoch") && has_number("gradient_evaluations") &&
                           has_number("sample_gradients") && has_number("seconds");
    if (is_record) continue;
    throw Error("the checkpoint's records are not those of a run",
                {layout.checkpoint().string(), line, "it was made by another program"});
  }
}

/// Threads that status.json says the run began with; 0 when it does not say.
int threads_of(const Json& status) {
  const Json threads = status.is_object() ? status.value("threads", Json()) : Json();
  return threads.is_number_integer() && threads > 0 && threads <= kMostThreads ? threads.get<int>() : 0;
}

/// The records may be behind metrics.jsonl, when the run was killed between the two, but not beside it.
void note_damaged_metrics(const RunLayout& layout, const std::string& records,
                          std::vector<std::string>& notes) {
  const std::string metrics = fs::exists(layout.metrics()) ? read_file(layout.metrics()) : "";
  if (metrics.starts_with(records)) return;
  notes.push_back(
      fmt::format("{} is damaged and was restored from the checkpoint", layout.metrics().string()));
}

/// Whether the run's other files say that its bits are not portable, for a checkpoint that does not say it.
bool says_not_portable(const RunLayout& layout, const Json& status) {
  const auto denies = [](const Json& about) {
    return about.is_object() && (about.value("has_portable_bits", Json()) == false ||
                                 about.value("instruction_set", Json()) == "baseline");
  };
  Json provenance;
  try {
    provenance = read_provenance(layout);
  } catch (const Error&) {
    // It begins anew.
  }
  const Json resumed = provenance.is_object() ? provenance.value("resumed", Json::array()) : Json::array();
  return denies(status) || denies(provenance) || std::any_of(resumed.begin(), resumed.end(), denies);
}

/// What the checkpoint says of the run. The config of one that has ended stands beside its result.
void take_checkpoint(LoadedCheckpoint loaded, const RunLayout& layout, const Json& status,
                     Continuation& run) {
  if (!loaded.problem.empty()) {
    run.notes.push_back(
        fmt::format("the newest checkpoint is damaged, so the one before it is used ({})", loaded.problem));
  }
  run.checkpoint = std::move(loaded.checkpoint);
  RunIdentity& identity = run.checkpoint->identity;
  if (!identity.has_portable_bits) identity.has_portable_bits = !says_not_portable(layout, status);
  if (run.result.is_null()) run.config = parse_run_config(identity.config, layout.checkpoint().string());
  run.threads = identity.threads;
  run.records = run.checkpoint->records;
  require_records(run.records, layout);
  note_damaged_metrics(layout, run.records, run.notes);
}

/// Whether a run that has ended must go on from its checkpoint, to make files again that it has lost.
bool has_lost_results(const RunLayout& layout, const Json& status, std::vector<std::string>& notes) {
  const std::vector<std::string> lost = find_lost_results(layout, status);
  if (lost.empty()) return false;
  if (!fs::exists(layout.checkpoint()) && !fs::exists(layout.previous_checkpoint())) {
    throw Error(
        "the run has lost files, and has no checkpoint to make them again from",
        {layout.root.string(), join(lost, "; "), "restore them, or remove the directory to run it again"});
  }
  for (const std::string& problem : lost)
    notes.push_back(fmt::format("the run has ended and lost a file, which is made again ({})", problem));
  return true;
}

}  // namespace

Continuation read_continuation(const RunLayout& layout, Ended ended) {
  Continuation run;
  Json status;
  try {
    status = read_status(layout);
    if (has_ended(status)) run.result = result_of(status);
  } catch (const Error& problem) {
    run.notes.push_back(fmt::format("{}: {}", layout.status().string(), problem.summary()));
  }
  if (!run.result.is_null() && has_lost_results(layout, status, run.notes)) run.result = Json();
  const bool has_ended = !run.result.is_null();
  if (has_ended) run.config = parse_run_config(read_config(layout), layout.config().string());
  if (has_ended && ended == Ended::kResult) return run;
  if (auto loaded = load_checkpoint(layout)) {
    take_checkpoint(std::move(*loaded), layout, status, run);
  } else if (!has_ended) {
    run.config = parse_run_config(read_config(layout), layout.config().string());
    run.threads = threads_of(status);
  }
  return run;
}

std::vector<std::string> describe_differences(const RunLayout& layout, const Json& now,
                                              bool has_own_kernels) {
  Json then;
  try {
    then = read_provenance(layout);
  } catch (const Error&) {
    return {fmt::format("{} is missing or damaged and begins anew", layout.provenance().string())};
  }
  std::vector<std::string> differences;
  std::vector<std::string> keys = {"commit", "libtorch", "device"};
  if (!has_own_kernels) keys.insert(keys.end(), {"processor", "threads"});
  for (const std::string& key : keys) {
    if (!then.contains(key) || then[key] == now[key]) continue;
    differences.push_back(
        fmt::format("the run began with {} {} and goes on with {}: the last bits may differ from those of an "
                    "uninterrupted run",
                    key, then[key].dump(), now[key].dump()));
  }
  return differences;
}

void require_same_run(const RunConfig& config, const std::string& data, const Continuation& run,
                      const RunLayout& layout) {
  std::vector<std::string> differences;
  for (const auto& [key, asked, found] : find_differences(result_values(config), run.config))
    differences.push_back(fmt::format("{} is {} and the run has {}", key, asked, found));
  if (!differences.empty()) {
    throw Error("the run in the directory has another configuration",
                {layout.root.string(), join(differences, "; "),
                 "leave these out to go on with it, or name another directory by {out}"});
  }
  if (run.checkpoint && run.checkpoint->identity.data != data) {
    throw Error(
        "the training data is not what the run began with",
        {config.dataset, "fingerprint " + data, "restore the files, or begin anew in another directory"});
  }
}

}  // namespace batchplus
