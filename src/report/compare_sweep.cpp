#include "report/compare_sweep.h"

#include <fmt/format.h>

#include <algorithm>

#include "store/sweep_directory.h"
#include "util/error.h"
#include "util/text.h"

namespace batchplus {
namespace {

std::map<std::string, PublishedValue> published_for(const SweepFile& sweep,
                                                    const std::vector<std::string>& labels) {
  std::map<std::string, PublishedValue> values;
  for (const SweepFile::Published& row : sweep.published) {
    find_quantity(row.quantity, "published");
    if (row.labels == labels) values[row.quantity] = row.value;
  }
  return values;
}

SweepFile read_description(const SweepDirectory& directory) {
  if (std::filesystem::exists(directory.description())) return read_sweep_file(directory.description());
  throw Error("there is no sweep here",
              {directory.root.string(), "it has no sweep.json",
               "'batchplus sweep SPEC' writes it, also for runs that are finished"});
}

/// What is different in the spec by now.
std::vector<std::string> changes_since(const SweepFile& sweep, Spec spec) {
  for (const std::string& setting : sweep.settings) set_everywhere(spec, setting);
  const SweepFile now = describe_sweep(spec, sweep.scale, expand(spec, sweep.scale));
  const auto is_same = [](const SweepFile::Run& a, const SweepFile::Run& b) {
    return a.id == b.id && a.labels == b.labels && a.choice == b.choice;
  };
  std::vector<std::string> notes;
  if (!std::equal(now.runs.begin(), now.runs.end(), sweep.runs.begin(), sweep.runs.end(), is_same)) {
    notes.emplace_back(
        "the spec has changed since the sweep, whose runs these are: 'batchplus sweep' runs what is new");
    return notes;
  }
  const Json before = to_json(sweep);
  const Json after = to_json(now);
  for (const char* part : {"report", "published"}) {
    if (before[part] == after[part]) continue;
    notes.push_back(
        fmt::format("[{}] of the spec has changed since the sweep: 'batchplus sweep' takes it over, and runs "
                    "nothing again",
                    part));
  }
  return notes;
}

}  // namespace

Comparison compare_sweep(const std::filesystem::path& root) {
  return compare_sweep(read_description({root}), root);
}

Comparison compare_sweep(const SweepFile& sweep, const std::filesystem::path& root) {
  const SweepDirectory directory{root};
  Comparison comparison{.name = sweep.name,
                        .title = sweep.title,
                        .scale = sweep.scale,
                        .scale_note = sweep.note,
                        .choice_key = sweep.choice_key,
                        .choice_by = sweep.choice_by,
                        .options = sweep.report};
  for (const auto& [name, labels] : sweep.axes) comparison.axes.push_back({name, labels});
  std::map<std::pair<std::vector<std::string>, std::string>, size_t> places;
  for (const SweepFile::Run& run : sweep.runs) {
    const auto [place, is_new] = places.try_emplace({run.labels, run.choice}, comparison.cells.size());
    if (is_new) {
      comparison.cells.push_back({.labels = run.labels,
                                  .published = published_for(sweep, run.labels),
                                  .choice = run.choice,
                                  .decided_by = run.decided_by});
    }
    comparison.cells[place->second].runs.push_back(
        {.id = run.id, .seed = run.seed, .directory = directory.run(run.id), .expected = run.config});
  }
  return comparison;
}

Comparison compare_spec(const SweepRequest& request, const Spec& spec) {
  find_scale(spec, scale_of(spec, request));
  const SweepDirectory directory{directory_of(spec, request)};
  const SweepFile sweep = read_description(directory);
  if (!request.scale.empty() && request.scale != sweep.scale) {
    throw Error("the sweep there was run at another scale",
                {"scale", request.scale, fmt::format("it was run at '{}'", sweep.scale)});
  }
  Spec changed = spec;
  for (const std::string& setting : request.settings) set_everywhere(changed, setting);
  const std::vector<std::string> asked = settings_by_hand(changed);
  if (!asked.empty() && asked != sweep.settings) {
    throw Error("the sweep was run with other settings",
                {"set", join(asked, " "),
                 sweep.settings.empty() ? "it was run without {set}"
                                        : "it was run with " + join(sweep.settings, " ")});
  }
  Comparison comparison = compare_sweep(sweep, directory.root);
  for (std::string& note : changes_since(sweep, spec)) comparison.notes.push_back(std::move(note));
  return comparison;
}

}  // namespace batchplus
