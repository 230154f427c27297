#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/command.h"
#include "cli/spec_options.h"
#include "report/arrange.h"
#include "report/curves.h"
#include "report/quantities.h"
#include "report/write_report.h"
#include "util/error.h"
#include "util/text.h"

namespace batchplus {
namespace {

namespace fs = std::filesystem;

struct ReportCommand {
  std::vector<std::string> targets;
  SpecOptions spec;
  std::string out;
  std::string x_axis;
  int64_t smooth = 0;
  bool has_figures = true;
};

/// One for each axis; a spec without axes has a single cell, called by its method.
std::vector<std::string> labels_of(const Spec& spec, const std::map<std::string, std::string>& cell,
                                   const RunConfig& config) {
  if (spec.axes.empty()) return {config.method};
  std::vector<std::string> labels;
  for (const SpecAxis& axis : spec.axes) labels.push_back(cell.at(axis.name));
  return labels;
}

/// The cell whose runs decide which value counts: itself, or with `same_for` the one that `when` names.
std::vector<std::string> decider_of(const Spec& spec, const SpecRun& run) {
  std::map<std::string, std::string> cell = run.cell;
  const SpecChoice& choice = *spec.choice;
  if (!choice.when.holds(cell)) {
    for (const auto& [axis, labels] : choice.same_for.labels)
      cell[axis] = choice.when.labels.at(axis).front();
  }
  return labels_of(spec, cell, run.config);
}

/// By quantity, what the paper has for a cell.
std::map<std::string, PublishedNumber> published_numbers(const Spec& spec,
                                                         const std::vector<std::string>& labels) {
  std::map<std::string, PublishedNumber> numbers;
  for (const auto& [quantity, cells] : spec.published) {
    find_quantity(quantity, "published");
    const auto found = cells.find(labels);
    if (found != cells.end()) numbers[quantity] = {found->second.mean, found->second.std};
  }
  return numbers;
}

/// What a scale changes, in words.
std::string describe_scale(const SpecScale& scale) {
  std::vector<std::string> parts;
  const SpecSettings& settings = scale.settings;
  if (settings.epochs_times)
    parts.push_back(fmt::format("{} times the epochs", format_number(*settings.epochs_times)));
  if (settings.repeats)
    parts.push_back(fmt::format("at most {} seed{}", *settings.repeats, *settings.repeats == 1 ? "" : "s"));
  for (const SpecSetting& setting : settings.config)
    parts.push_back(fmt::format("{} = {}", setting.key, setting.text));
  std::vector<std::string> conditions;
  for (const SpecCondition& condition : scale.only) {
    std::vector<std::string> axes;
    for (const auto& [axis, labels] : condition.labels)
      axes.push_back(fmt::format("{} only {}", axis, join(labels, ", ")));
    conditions.push_back(join(axes, " and "));
  }
  if (!conditions.empty()) parts.push_back(join(conditions, ", or "));
  return parts.empty() ? "" : fmt::format("less than the whole: {}.", join(parts, "; "));
}

Comparison compare_spec(const Sweep& sweep) {
  const Spec& spec = sweep.spec;
  Comparison comparison{.name = spec.name,
                        .title = spec.title,
                        .scale = sweep.scale,
                        .scale_note = describe_scale(find_scale(spec, sweep.scale)),
                        .options = {.tables = spec.report.tables,
                                    .curves = spec.report.curves,
                                    .x_axis = spec.report.x,
                                    .smooth = spec.report.smooth}};
  std::vector<std::string> by_hand;
  for (const SpecSetting& setting : spec.last.config) {
    by_hand.push_back(fmt::format("{} = {}", setting.key, setting.text));
  }
  if (spec.last.repeats) by_hand.push_back(fmt::format("repeats = {}", *spec.last.repeats));
  if (!by_hand.empty()) {
    const char* space = comparison.scale_note.empty() ? "" : " ";
    comparison.scale_note += fmt::format("{}set by hand: {}.", space, join(by_hand, ", "));
  }
  if (spec.choice) {
    comparison.choice_key = spec.choice->key;
    comparison.choice_by = spec.choice->by;
  }
  std::map<std::vector<std::string>, size_t> places;
  for (const PlannedRun& planned : sweep.planned) {
    const SpecRun& run = planned.run;
    const std::vector<std::string> labels = labels_of(spec, run.cell, run.config);
    std::vector<std::string> key = labels;
    key.push_back(run.choice);
    const auto [place, is_new] = places.try_emplace(key, comparison.cells.size());
    if (is_new) {
      ComparedCell cell{.labels = labels, .choice = run.choice};
      if (!run.choice.empty()) cell.decided_by = decider_of(spec, run);
      cell.published = published_numbers(spec, labels);
      comparison.cells.push_back(std::move(cell));
    }
    comparison.cells[place->second].runs.push_back({.id = run.id,
                                                    .seed = run.config.seed,
                                                    .directory = sweep.directory.run(run.id),
                                                    .record = std::nullopt});
  }
  // Where a scale left the deciding cell out, each decides for itself.
  for (ComparedCell& cell : comparison.cells) {
    const bool has_decider =
        std::any_of(comparison.cells.begin(), comparison.cells.end(),
                    [&](const ComparedCell& other) { return other.labels == cell.decided_by; });
    if (!cell.choice.empty() && !has_decider) cell.decided_by = cell.labels;
  }
  if (spec.axes.empty()) comparison.axes = {{"method", comparison.cells.front().labels}};
  // Only labels that the scale left in.
  for (size_t a = 0; a < spec.axes.size(); ++a) {
    ComparedAxis axis{spec.axes[a].name, {}};
    for (const SpecAxisValue& value : spec.axes[a].values) {
      const bool is_used =
          std::any_of(comparison.cells.begin(), comparison.cells.end(),
                      [&](const ComparedCell& cell) { return cell.labels[a] == value.label; });
      if (is_used) axis.labels.push_back(value.label);
    }
    comparison.axes.push_back(std::move(axis));
  }
  return comparison;
}

int run_report(ReportCommand command, const GlobalOptions& options) {
  const bool is_spec =
      command.targets.size() == 1 && fs::path(command.targets.front()).extension() == ".toml";
  Comparison comparison;
  fs::path out = command.out;
  if (is_spec) {
    command.spec.spec = command.targets.front();
    const Sweep sweep = open_sweep(command.spec);
    comparison = compare_spec(sweep);
    if (out.empty()) out = sweep.directory.root / "report";
  } else {
    comparison = arrange_runs(find_runs({command.targets.begin(), command.targets.end()}));
    if (out.empty()) out = "report";
  }
  if (!command.x_axis.empty()) comparison.options.x_axis = command.x_axis;
  if (command.smooth > 0) comparison.options.smooth = command.smooth;
  const WrittenReport report = write_report(std::move(comparison), out, command.has_figures);
  if (options.is_json) {
    fmt::print("{}\n", report.json.dump());
    return 0;
  }
  if (!options.is_quiet) {
    fmt::print("{}\n", report.comparison.title);
    if (!report.comparison.scale.empty()) {
      const char* colon = report.comparison.scale_note.empty() ? "" : ": ";
      fmt::print("Scale {}{}{}\n", report.comparison.scale, colon, report.comparison.scale_note);
    }
    fmt::print("\n{}", report.text);
  }
  fmt::print("Page: {}\n", (out / "index.html").string());
  return 0;
}

}  // namespace

void add_report_command(CLI::App& app, GlobalOptions& options, CommandAction& action) {
  CLI::App* report = app.add_subcommand("report", "tables, figures and a page from finished runs");
  add_global_options(*report, options);
  auto command = std::make_shared<ReportCommand>();
  report->add_option("spec-or-runs", command->targets, "a spec (TOML file), or directories that hold runs")
      ->required();
  add_spec_options(*report, command->spec);
  report->add_option("--runs", command->spec.directory,
                     "where the runs of the spec are (default: sweeps/SPEC-SCALE)");
  report->add_option("--out", command->out,
                     "where the report goes (default: into that directory, as report/)");
  std::vector<std::string> axes;
  for (const XAxis& axis : x_axes()) axes.push_back(axis.name);
  report->add_option("--x", command->x_axis, "x axis of curves: epochs, evaluations, seconds or loss")
      ->check(CLI::IsMember(axes));
  report->add_option("--smooth", command->smooth, "moving average over so many points; 1: none")
      ->check(CLI::PositiveNumber);
  report->add_flag("!--no-figures", command->has_figures,
                   "draw no figures with gnuplot; the page has its own");
  report->callback([command, &options, &action] {
    action = [command, &options] { return run_report(*command, options); };
  });
}

}  // namespace batchplus
