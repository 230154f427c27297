#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/find_spec.h"
#include "cli/spec_options.h"
#include "cli/usage.h"
#include "report/arrange.h"
#include "report/compare_sweep.h"
#include "report/write_report.h"
#include "store/sweep_directory.h"
#include "util/error.h"
#include "util/text.h"

namespace batchplus {
namespace {

namespace fs = std::filesystem;

struct ReportCommand {
  std::vector<std::string> targets;
  SweepRequest request;
  std::string out;
  std::string x_axis;
  int64_t smooth = 0;
  std::string tables;
  std::string at_loss;
  bool has_figures = true;
};

/// What to report, and where the report goes.
struct Target {
  Comparison comparison;
  fs::path out;
};

/// Options that say which runs of a spec mean nothing for directories.
void require_no_spec_options(const SweepRequest& request) {
  const auto refuse = [](const char* key, const std::string& value) {
    throw Error("only a spec has such an option",
                {key, value, "leave it out, or name the spec (a TOML file) instead of directories"});
  };
  if (!request.scale.empty()) refuse("scale", request.scale);
  if (!request.settings.empty()) refuse("set", join(request.settings, " "));
  if (!request.directory.empty()) refuse("runs", request.directory);
}

/// What the only target means: a path that is there, or else the spec of that name.
fs::path find_spec_or_path(const fs::path& asked) {
  if (fs::exists(asked)) return asked;
  if (const auto named = find_named_spec(asked)) return *named;
  // What is like no spec was meant as a path.
  if (!nearest_name(asked.string(), spec_names())) return asked;
  return find_spec(asked);
}

Target find_target(const ReportCommand& command) {
  const bool is_one = command.targets.size() == 1;
  fs::path first = command.targets.front();
  if (is_one) first = find_spec_or_path(first);
  if (is_one && first.extension() == ".toml") {
    const Spec spec = read_spec(first);
    return {compare_spec(command.request, spec), directory_of(spec, command.request) / "report"};
  }
  require_no_spec_options(command.request);
  if (is_one && fs::exists(SweepDirectory{first}.description()))
    return {compare_sweep(first), first / "report"};
  Comparison comparison = arrange_runs(find_runs({command.targets.begin(), command.targets.end()}));
  if (is_one) return {std::move(comparison), first / "report"};
  // Nobody says whose the report is that may be here.
  const fs::path out = "report";
  if (command.out.empty() && fs::exists(out)) {
    throw Error("a report of several runs would replace what is here",
                {"out", fs::absolute(out).string(), "name a directory for it by {out}"});
  }
  return {std::move(comparison), out};
}

int run_report(const ReportCommand& command, const GlobalOptions& options) {
  if (command.smooth != 0) require_window(command.smooth, "smooth");
  auto [comparison, out] = find_target(command);
  if (!command.out.empty()) out = command.out;
  if (!command.x_axis.empty()) comparison.options.x = command.x_axis;
  if (command.smooth != 0) comparison.options.smooth = command.smooth;
  if (!command.tables.empty()) comparison.options.tables = split(command.tables, ',');
  if (!command.at_loss.empty())
    comparison.options.at_loss = parse_loss_levels(split(command.at_loss, ','), "at_loss");
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
    for (const std::string& note : report.comparison.notes) fmt::print("Note: {}\n", note);
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
  report
      ->add_option(
          "spec-or-runs", command->targets,
          "a spec (TOML file, or name like paper/table3), a sweep's directory, or directories that hold runs")
      ->required();
  add_spec_options(*report, command->request);
  report->add_option("--runs", command->request.directory,
                     "where the runs of the spec are (default: sweeps/SPEC-SCALE)");
  report->add_option(
      "--out", command->out,
      "where the report goes (default: into that directory, as report/; of several runs, here)");
  std::vector<std::string> axes;
  for (const XAxis& axis : x_axes()) axes.push_back(axis.name);
  report->add_option("--x", command->x_axis, "x axis of curves: " + join(axes, ", "))
      ->check(CLI::IsMember(axes));
  report
      ->add_option("--smooth", command->smooth, "moving average over so many points, an odd number; 1: none")
      ->check(at_least(1));
  report->add_option("--tables", command->tables,
                     "quantities that tables show, separated by commas: test_accuracy, loss_gap, ...");
  report->add_option("--at-loss", command->at_loss,
                     "compare runs also where their evaluated training loss falls to these levels, like "
                     "0.8,0.4; needs --metrics gaps");
  report->add_flag("!--no-figures", command->has_figures,
                   "draw no figures with gnuplot; the page has its own");
  report->callback([command, &options, &action] {
    action = [command, &options] { return run_report(*command, options); };
  });
}

}  // namespace batchplus
