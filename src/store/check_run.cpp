#include "store/check_run.h"

#include <fmt/format.h>

#include <functional>

#include "formats/state_dict_file.h"
#include "store/checkpoint_file.h"
#include "util/error.h"
#include "util/file.h"
#include "util/hash.h"

namespace batchplus {
namespace fs = std::filesystem;
namespace {

/// What `check` finds wrong with a file, as a sentence about it.
void note_problem(const fs::path& file, std::vector<std::string>& problems,
                  const std::function<void()>& check) {
  try {
    check();
  } catch (const Error& problem) {
    problems.push_back(fmt::format("{}: {}", file.filename().string(), problem.summary()));
  }
}

void require_file(const fs::path& path) {
  if (!fs::exists(path)) throw Error("it is missing");
}

/// The state of the run that a checkpoint holds, once its checksum is known to be right.
Json read_state(const fs::path& checkpoint) {
  return parse_state(read_checkpoint_file(read_file(checkpoint), checkpoint.string()), checkpoint.string());
}

}  // namespace

std::vector<std::string> find_lost_results(const RunLayout& layout, const Json& status) {
  std::vector<std::string> problems;
  note_problem(layout.metrics(), problems, [&] {
    // The format without checksums does not say whether there were records.
    if (!status.contains(kMetricsChecksum)) require_file(layout.metrics());
    read_records(layout, status);
  });
  if (status["status"] != "done") return problems;
  note_problem(layout.weights(), problems, [&] {
    require_file(layout.weights());
    const std::string bytes = read_file(layout.weights());
    require_checksum(status, kWeightsFileChecksum, sha256_hex(bytes), layout.weights());
    const StateDictFile weights = read_state_dict_file(bytes, layout.weights().string());
    require_checksum(status, kWeightsChecksum, weights_sha256(weights), layout.weights());
  });
  return problems;
}

RunCheck check_run(const RunLayout& layout) {
  RunCheck run;
  Json status;
  note_problem(layout.status(), run.problems, [&] {
    require_file(layout.status());
    status = read_status(layout);
    run.status = status["status"].get<std::string>();
  });
  if (!status.is_null()) {
    note_problem(layout.config(), run.problems, [&] { read_config(layout); });
    note_problem(layout.provenance(), run.problems, [&] { read_provenance(layout, status); });
    if (has_ended(status)) {
      for (std::string& problem : find_lost_results(layout, status))
        run.problems.push_back(std::move(problem));
    }
  }
  for (const fs::path& path : {layout.checkpoint(), layout.previous_checkpoint()}) {
    if (fs::exists(path)) note_problem(path, run.problems, [&] { read_state(path); });
  }
  return run;
}

}  // namespace batchplus
