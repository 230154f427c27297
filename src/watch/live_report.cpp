#include "watch/live_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "config/compare_configs.h"
#include "report/arrange.h"
#include "report/compare_sweep.h"
#include "report/content.h"
#include "util/error.h"
#include "util/text.h"

namespace batchplus {
namespace {

/// So many records in all are compared; of more each second, third, ... is left.
constexpr size_t kMostRecords = 40'000;
/// Runs without a sweep that are arranged by their configs, which are read for that.
constexpr size_t kMostArranged = 300;
constexpr size_t kMostTicked = 40;

void note_once(Comparison& comparison, const std::string& note) {
  auto& notes = comparison.notes;
  if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
}

/// What a report looks at in a record.
std::set<std::string> keys_of(const ReportOptions& options) {
  std::set<std::string> keys = {"train_loss", "loss_gap", "train_accuracy", "accuracy_gap"};
  keys.insert(options.tables.begin(), options.tables.end());
  keys.insert(options.curves.begin(), options.curves.end());
  for (const XAxis& axis : x_axes()) keys.insert(axis.key);
  return keys;
}

/// As read_runs does from files, from what is known of the runs.
void fill_runs(const Watcher& watcher, Comparison& comparison) {
  size_t records = 0;
  const auto for_each = [&](const std::function<void(ComparedRun&, const WatchedRun&)>& visit) {
    for (ComparedCell& cell : comparison.cells) {
      for (ComparedRun& run : cell.runs)
        watcher.with_run(watcher.id_at(run.directory), [&](const WatchedRun& seen) { visit(run, seen); });
    }
  };
  for_each([&](ComparedRun&, const WatchedRun& seen) { records += seen.columns().kept(); });
  const std::set<std::string> keys = keys_of(comparison.options);
  const size_t stride = std::max<size_t>(1, (records + kMostRecords - 1) / kMostRecords);
  for_each([&](ComparedRun& run, const WatchedRun& seen) {
    if (!seen.problem().empty()) {
      run.why_left_out = "broken";
      note_once(comparison, fmt::format("left out, because it is broken: {}", run.directory.string()));
      return;
    }
    if (!seen.config() || seen.status().empty()) return;
    const std::string misplacement =
        run.expected.empty() ? "" : describe_differences(run.expected, *seen.config());
    if (!misplacement.empty()) {
      run.why_left_out = "another run";
      note_once(comparison, fmt::format("left out, because it is another run than the sweep's: {} ({})",
                                        run.directory.string(), misplacement));
      return;
    }
    run.record = StoredRun{.config_toml = {},
                           .provenance = Json::object(),
                           .status = seen.status(),
                           .metrics = seen.columns().records(stride, keys)};
  });
  if (stride > 1) comparison.notes.push_back(fmt::format("the figures show one of {} records", stride));
}

/// A name that tells a run from the others.
std::string name_of(const WatchedRun& run) {
  const WatchedPlace& place = run.place();
  if (place.description) {
    if (const SweepFile::Run* row = find_run(*place.description, place.id_in_sweep)) {
      std::vector<std::string> parts = row->labels;
      if (!row->choice.empty()) parts.push_back(row->choice);
      parts.push_back(fmt::format("seed {}", row->seed));
      return join(parts, ", ");
    }
  }
  return place.relative.empty() ? place.path().filename().string() : place.relative.string();
}

/// Every run a column of its own.
Comparison compare_each(const Watcher& watcher, const std::vector<std::string>& ids) {
  if (ids.size() > kMostTicked) {
    throw Error("too many runs to draw each for itself",
                {"", std::to_string(ids.size()), fmt::format("choose {} at most", kMostTicked)});
  }
  Comparison comparison{.name = "runs", .title = fmt::format("{} chosen runs", ids.size())};
  comparison.axes.push_back({"run", {}});
  std::set<std::string> names;
  for (const std::string& id : ids) {
    watcher.with_run(id, [&](const WatchedRun& run) {
      // What their sweep's report shows of them; levels of the training loss are for means over seeds.
      if (comparison.cells.empty() && run.place().description) {
        comparison.options = run.place().description->report;
        comparison.options.at_loss.clear();
      }
      std::string name = name_of(run);
      if (!names.insert(name).second) name += fmt::format(" ({})", id.substr(0, 4));
      comparison.axes.back().labels.push_back(name);
      ComparedCell cell{.labels = {name}};
      cell.runs.push_back(
          {.id = id, .seed = run.config() ? run.config()->seed : 0, .directory = run.place().path()});
      comparison.cells.push_back(std::move(cell));
    });
  }
  if (comparison.cells.empty()) throw Error("there are no such runs");
  return comparison;
}

Comparison arrange_loose(const Watcher& watcher) {
  std::vector<std::filesystem::path> directories;
  for (const std::string& id : watcher.loose_runs()) {
    watcher.with_run(id, [&](const WatchedRun& run) {
      if (run.config() && run.problem().empty()) directories.push_back(run.place().path());
    });
  }
  if (directories.empty()) throw Error("no run can be compared yet");
  if (directories.size() > kMostArranged) {
    throw Error("too many runs to be arranged",
                {"", std::to_string(directories.size()), "tick those that you want to compare"});
  }
  std::sort(directories.begin(), directories.end());
  return arrange_runs(directories);
}

Comparison compare(const Watcher& watcher, const LiveSelection& selection) {
  if (!selection.runs.empty()) return compare_each(watcher, selection.runs);
  if (selection.sweep.empty()) return arrange_loose(watcher);
  const auto sweep = watcher.sweep(selection.sweep);
  if (!sweep) throw Error("there is no such sweep");
  if (!sweep->description) throw Error(sweep->problem);
  return compare_sweep(*sweep->description, sweep->path());
}

/// The grid with the ids by which runs are known here.
Json grid_of(const Watcher& watcher, const Comparison& comparison) {
  Json axes = Json::array();
  for (const ComparedAxis& axis : comparison.axes)
    axes.push_back({{"name", axis.name}, {"labels", axis.labels}});
  Json cells = Json::array();
  for (const ComparedCell& cell : comparison.cells) {
    Json ids = Json::array();
    for (const ComparedRun& run : cell.runs) ids.push_back(watcher.id_at(run.directory));
    Json row = {{"labels", cell.labels}, {"runs", std::move(ids)}};
    if (!cell.choice.empty()) row["choice"] = fmt::format("{} {}", comparison.choice_key, cell.choice);
    cells.push_back(std::move(row));
  }
  const ReportedQuantity& quantity = find_quantity(comparison.options.tables.front(), "tables");
  return {{"axes", std::move(axes)},
          {"cells", std::move(cells)},
          {"quantity", quantity.name},
          {"label", quantity.label},
          {"digits", quantity.digits}};
}

}  // namespace

std::string LiveSelection::key() const {
  return sweep + "/" + join(runs, ",");
}

Json live_report(const Watcher& watcher, const LiveSelection& selection) {
  Comparison comparison = compare(watcher, selection);
  Json grid = grid_of(watcher, comparison);
  fill_runs(watcher, comparison);
  const auto& cells = comparison.cells;
  const bool has_ended = std::any_of(cells.begin(), cells.end(), [](const ComparedCell& cell) {
    return cell.count_done() + cell.count_diverged() > 0;
  });
  // Levels of the training loss need runs that recorded it; a report refuses others, and here they may come.
  const std::vector<double> levels = comparison.options.at_loss;
  ReportContent content;
  try {
    content = make_content(levels.empty() ? std::move(comparison) : comparison);
  } catch (const Error& problem) {
    if (levels.empty()) throw;
    note_once(comparison, fmt::format("no tables at equal training loss yet: {}", problem.summary()));
    comparison.options.at_loss.clear();
    content = make_content(std::move(comparison));
  }
  return {{"title", content.comparison.title},
          {"scale", content.comparison.scale},
          {"runs", describe_runs(content.comparison)},
          {"notes", notes_html(content.comparison)},
          {"tables", has_ended ? tables_html(content) : ""},
          {"grid", std::move(grid)},
          {"data", page_data(content)}};
}

}  // namespace batchplus
