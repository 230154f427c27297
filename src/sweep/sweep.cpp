#include "sweep/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "config/config_toml.h"
#include "config/sweep_file.h"
#include "store/run_directory.h"
#include "util/error.h"
#include "util/file.h"
#include "util/text.h"

namespace batchplus {

std::vector<SpecRun> Sweep::runs() const {
  std::vector<SpecRun> all;
  for (const PlannedRun& row : planned) all.push_back(row.run);
  return all;
}

namespace {

/// What the run directory's config will say. What is left to the data is known when it has been read.
ConfigValues expected_config(const PlannedRun& row) {
  ConfigValues values = result_values(row.plan->complete);
  const RunConfig& asked = row.run.config;
  if (asked.normalize == "auto") values.erase("normalize");
  const std::string& outer =
      asked.outer_batch.empty() ? row.plan->method.info.outer_batch : asked.outer_batch;
  if (outer == "all") values.erase("outer_batch");
  return values;
}

/// The ids of a sweep's runs, by its description.
std::set<std::string> ids_of(const Json& description) {
  std::set<std::string> ids;
  for (const Json& run : description.value("runs", Json::array())) {
    if (run.is_object() && run.contains("id") && run["id"].is_string()) ids.insert(run["id"]);
  }
  return ids;
}

/// Whether one of the two sweeps has all runs of the other, as figures have that are drawn of a table's runs.
bool shares_runs(const std::set<std::string>& theirs, const std::set<std::string>& ours) {
  return std::includes(theirs.begin(), theirs.end(), ours.begin(), ours.end()) ||
         std::includes(ours.begin(), ours.end(), theirs.begin(), theirs.end());
}

/// Whether a sweep of this name that was described here is not this one: a spec in another folder, or one
/// that was changed all over. Of its runs, which have begun, this one has none.
bool is_namesake(const std::set<std::string>& theirs, const std::set<std::string>& ours,
                 const SweepDirectory& directory) {
  const auto is_begun = [&](const std::string& id) { return RunLayout{directory.run(id)}.holds_run(); };
  const auto is_ours = [&](const std::string& id) { return ours.contains(id); };
  return std::none_of(theirs.begin(), theirs.end(), is_ours) &&
         std::any_of(theirs.begin(), theirs.end(), is_begun);
}

/// A sweep's description replaces no other's.
void require_same_sweep(const Sweep& sweep, const Json& description, const std::string& name) {
  const SweepDirectory& directory = sweep.directory;
  const std::set<std::string> theirs = ids_of(description);
  std::set<std::string> ours;
  for (const PlannedRun& row : sweep.planned) ours.insert(row.run.id);
  const bool is_same =
      name == sweep.spec.name ? !is_namesake(theirs, ours, directory) : shares_runs(theirs, ours);
  if (is_same) return;
  throw Error(
      name == sweep.spec.name ? "the directory holds another sweep of this name, which has none of these runs"
                              : "the directory holds the sweep of another spec",
      {"out", fmt::format("{}: {}", directory.root.string(), name),
       fmt::format("name another directory by {{out}}; if the spec was {}, remove {}",
                   name == sweep.spec.name ? "changed" : "renamed", directory.description().string())});
}

/// sweep.json is written anew, unless it is of something else or of other runs, and not into the directory of
/// a run.
void require_own_description(const Sweep& sweep) {
  const SweepDirectory& directory = sweep.directory;
  const std::filesystem::path path = directory.description();
  if (!std::filesystem::exists(path)) {
    if (!RunLayout{directory.root}.holds_run()) return;
    throw Error("the directory holds a run",
                {"out", directory.root.string(), "name another directory for the sweep"});
  }
  const Json json = Json::parse(read_file(path), nullptr, /*allow_exceptions=*/false);
  const Json found = json.is_object() ? json.value("name", Json()) : Json();
  const bool is_description = found.is_string() && json.contains("runs") && json.contains("axes");
  if (is_description) return require_same_sweep(sweep, json, found);
  // A damaged one of this sweep has runs of this sweep beside it.
  const bool has_begun = std::any_of(sweep.planned.begin(), sweep.planned.end(), [&](const PlannedRun& row) {
    return RunLayout{directory.run(row.run.id)}.holds_run();
  });
  if (has_begun) return;
  throw Error("the file is not the description of a sweep, or damaged",
              {"out", path.string(),
               "name an empty directory, or one that holds a sweep; if it is damaged, remove the file"});
}

}  // namespace

Sweep open_sweep(const SweepRequest& request) {
  if (request.spec.empty()) throw Error("no spec was named", {"sweep", "", "like specs/paper/table3.toml"});
  Sweep sweep{.spec = read_spec(request.spec), .scale = {}, .planned = {}, .directory = {}};
  sweep.scale = scale_of(sweep.spec, request);
  for (const std::string& setting : request.settings) set_everywhere(sweep.spec, setting);
  sweep.planned = plan_sweep(sweep.spec, sweep.scale);
  for (PlannedRun& row : sweep.planned) row.run.config.data_dir = request.data_directory;
  sweep.directory = {directory_of(sweep.spec, request)};
  return sweep;
}

void begin_sweep(const Sweep& sweep) {
  require_own_description(sweep);
  sweep.directory.create();
  SweepFile file = describe_sweep(sweep.spec, sweep.scale, sweep.runs());
  for (size_t i = 0; i < sweep.planned.size(); ++i) file.runs[i].config = expected_config(sweep.planned[i]);
  write_file_atomically(sweep.directory.description(), to_json(file).dump(1) + "\n");
}

SweepTally tally(const Sweep& sweep, RecordsCheck check) {
  SweepTally result;
  std::set<std::string> seen;
  for (const PlannedRun& row : sweep.planned) {
    // Cells may share a run.
    if (!seen.insert(row.run.id).second) continue;
    const auto cost = static_cast<double>(row.sample_gradients);
    const SweepState state = state_of(sweep.directory, row.run.id, check);
    ++result.counts[state];
    result.total += cost;
    // A run that was cut short goes on near where it was.
    const double share = is_open(state) ? progress_of(sweep.directory, row.run.id) : 1;
    result.done += share * cost;
    if (state == SweepState::kRunning) result.running.emplace_back(describe(row.run), share);
  }
  return result;
}

std::vector<MisplacedRun> find_misplaced(const Sweep& sweep) {
  std::vector<MisplacedRun> all;
  std::set<std::string> seen;
  for (const PlannedRun& row : sweep.planned) {
    if (!seen.insert(row.run.id).second) continue;
    if (auto misplaced = find_misplaced(sweep.directory, row)) all.push_back(std::move(*misplaced));
  }
  return all;
}

std::optional<MisplacedRun> find_misplaced(const SweepDirectory& directory, const PlannedRun& row) {
  const RunLayout layout{directory.run(row.run.id)};
  if (!layout.holds_run()) return std::nullopt;
  try {
    const RunConfig config = parse_run_config(read_config(layout), layout.config().string());
    std::string differences = describe_differences(expected_config(row), config);
    if (differences.empty()) return std::nullopt;
    return MisplacedRun{row.run, state_of(directory, row.run.id), std::move(differences)};
  } catch (const Error&) {
    // A config that cannot be read is damage, which `check` and the report name.
    return std::nullopt;
  }
}

std::string describe(const SpecRun& run) {
  std::vector<std::string> parts;
  for (const auto& [axis, label] : run.cell) parts.push_back(label);
  if (!run.choice.empty()) parts.push_back(run.choice);
  parts.push_back(fmt::format("seed {}", run.config.seed));
  return join(parts, ", ");
}

}  // namespace batchplus
