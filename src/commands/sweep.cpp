#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "cli/own_programs.h"
#include "cli/serve_options.h"
#include "cli/spec_options.h"
#include "commands/commands.h"
#include "commands/environment.h"
#include "commands/sweep_slurm.h"
#include "report/quantities.h"
#include "store/run_directory.h"
#include "sweep/queue.h"
#include "sweep/slurm_job.h"
#include "sweep/sweep_screen.h"
#include "sweep/workers.h"
#include "util/cores.h"
#include "util/error.h"
#include "util/file.h"
#include "util/process.h"
#include "util/standard_streams.h"
#include "util/stop_signal.h"
#include "util/terminal.h"
#include "util/text.h"
#include "watch/serve_runs.h"

namespace batchplus {
namespace {

namespace fs = std::filesystem;

Json plan_json(const PlannedRun& planned) {
  const RunConfig& config = planned.run.config;
  Json row = {{"id", planned.run.id},
              {"dataset", config.dataset},
              {"model", config.model},
              {"method", config.method},
              {"seed", config.seed},
              {"lr", config.lr},
              {"cell", planned.run.cell},
              {"inner_batch", config.inner_batch},
              {"gradient_evaluations", planned.gradient_evaluations},
              {"samples", planned.sample_gradients}};
  if (!planned.run.choice.empty()) row["choice"] = planned.run.choice;
  row["estimated_seconds"] = planned.estimated_seconds;
  row["estimated_bytes"] = planned.memory_bytes;
  return row;
}

/// One line for the seeds of a cell, and the whole.
void print_plan(const Sweep& sweep, const SweepCommand& command) {
  fmt::print("{}: {}\n", sweep.spec.name, sweep.spec.title);
  const auto& rows = sweep.planned;
  double seconds = 0;
  double memory = 0;
  int64_t gradients = 0;
  int64_t repeats = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const PlannedRun& row = rows[i];
    seconds += row.estimated_seconds;
    gradients += row.sample_gradients;
    memory = std::max(memory, row.memory_bytes);
    ++repeats;
    const bool is_last_seed = i + 1 == rows.size() || rows[i + 1].run.cell != row.run.cell ||
                              rows[i + 1].run.choice != row.run.choice;
    if (!is_last_seed) continue;
    std::vector<std::string> labels;
    for (const SpecAxis& axis : sweep.spec.axes) labels.push_back(row.run.cell.at(axis.name));
    if (!row.run.choice.empty())
      labels.push_back(fmt::format("{} {}", sweep.spec.choice->key, row.run.choice));
    fmt::print("  {:<48} {:>2} x {:>11} gradient evaluations{}\n", join(labels, ", "), repeats,
               format_count(std::llround(row.gradient_evaluations)),
               row.estimated_seconds > 0 ? "  " + format_duration(row.estimated_seconds) : "");
    repeats = 0;
  }
  fmt::print("{} runs at scale '{}', {} sample gradients", rows.size(), sweep.scale, format_count(gradients));
  if (command.is_calibrated) {
    fmt::print(", about {} of training one after the other, up to {} of memory each",
               format_duration(seconds), format_bytes(memory));
  }
  fmt::print("\n");
}

int show_plan(Sweep sweep, const SweepCommand& command, const GlobalOptions& options) {
  if (command.is_calibrated) {
    // As many as a worker has.
    if (options.threads == 0) at::set_num_threads(1);
    calibrate(sweep.planned, device_to_compute_on(options));
  }
  if (!options.is_json) {
    print_plan(sweep, command);
    return 0;
  }
  Json rows = Json::array();
  for (const PlannedRun& row : sweep.planned) rows.push_back(plan_json(row));
  fmt::print("{}\n", Json{{"spec", sweep.spec.name}, {"scale", sweep.scale}, {"runs", rows}}.dump());
  return 0;
}

/// The command line of another process of this sweep.
std::vector<std::string> command_line(const Sweep& sweep, SweepRequest request, const GlobalOptions& options,
                                      int threads) {
  request.spec = fs::absolute(request.spec).string();
  std::vector<std::string> arguments = {called_program().string(), "sweep"};
  for (std::string& argument : spec_arguments(request)) arguments.push_back(std::move(argument));
  arguments.insert(arguments.end(), {"--out", fs::absolute(sweep.directory.root).string(), "--device",
                                     options.device, "--threads", std::to_string(threads)});
  if (!request.data_directory.empty())
    arguments.insert(arguments.end(), {"--data-dir", fs::absolute(request.data_directory).string()});
  return arguments;
}

void run_here(const Sweep& sweep, const SweepCommand& command, const GlobalOptions& options) {
  SweepScreen screen(can_redraw(STDERR_FILENO) ? columns_of(STDERR_FILENO) : 0);
  run_workers(
      sweep, {command.workers, options.threads},
      [&](const std::vector<int>& cores) {
        auto line = command_line(sweep, command.request, options, static_cast<int>(cores.size()));
        line.insert(line.end(), {"--quiet", "--worker-cores", fmt::format("{}", fmt::join(cores, ","))});
        return line;
      },
      {.show =
           [&](const SweepTally& tally) {
             if (!options.is_quiet) tell("{}", screen.picture(tally));
           },
       .tell =
           [&](const std::string& news) {
             tell("batchplus: {}\n", news);
             screen.leave_picture();
           }});
}

/// What `--watch` serves, until the end of the scope. In this process, and so not longer than it, however it
/// ends; and before the first run begins, so that a port that is taken costs nothing.
class SweepPage {
 public:
  SweepPage(const Sweep& sweep, const ServeCommand& command) : server_(options_of(sweep, command)) {
    tell("Watch the sweep at {}\n", server_.address());
    browser_ = open_page(command, server_.address());
  }

  /// Lets pages that are open get the last results. A signal cuts it short.
  void show_end() {
    constexpr double kMostSeconds = 5;
    server_.show_end(kMostSeconds, [] { return stop_signal() != 0; });
  }

 private:
  static ServeOptions options_of(const Sweep& sweep, const ServeCommand& command) {
    ServeOptions options = command.serve;
    options.paths = {sweep.directory.root};
    return options;
  }

  RunServer server_;
  std::unique_ptr<ChildProcess> browser_;
};

void report_failures(const Sweep& sweep) {
  for (const PlannedRun& row : sweep.planned) {
    if (state_of(sweep.directory, row.run.id) != SweepState::kFailed) continue;
    const Json failure = Json::parse(read_file(sweep.directory.failure(row.run.id)), nullptr, false);
    tell("failed: {}: {}\n", describe(row.run), failure.is_object() ? failure.value("error", "") : "unknown");
  }
}

void tell_misplaced(const Sweep& sweep, const MisplacedRun& row) {
  tell("misplaced: {}: {} holds another run: {}\n", describe(row.run),
       sweep.directory.run(row.run.id).string(), row.differences);
}

/// The outcome in words or JSON; 0 when every run has a result.
int conclude(const Sweep& sweep, const GlobalOptions& options) {
  SweepTally result = tally(sweep);
  const std::vector<MisplacedRun> misplaced = find_misplaced(sweep);
  for (const MisplacedRun& row : misplaced) {
    --result.counts[row.state];
    ++result.counts[SweepState::kMisplaced];
  }
  if (options.is_json) {
    Json json = {
        {"spec", sweep.spec.name}, {"scale", sweep.scale}, {"directory", sweep.directory.root.string()}};
    for (const SweepState state : kSweepStates) json[to_string(state)] = result.count(state);
    fmt::print("{}\n", json.dump());
  } else {
    fmt::print("{} ({}): {}, in {}\n", sweep.spec.name, sweep.scale, describe(result),
               sweep.directory.root.string());
  }
  report_failures(sweep);
  for (const MisplacedRun& row : misplaced) tell_misplaced(sweep, row);
  const bool has_all = result.count(SweepState::kFailed) + result.count(SweepState::kMisplaced) == 0;
  return result.is_finished() && has_all ? 0 : Error::kFailure;
}

/// 128 and the signal's number after one, else the code given.
int exit_code_of_stop(int otherwise) {
  constexpr int kExitSignalled = 128;
  return stop_signal() != 0 ? kExitSignalled + stop_signal() : otherwise;
}

/// What is known of one run: its result, if it has one.
Json run_json(const Sweep& sweep, int64_t index, SweepState state) {
  const SpecRun& run = sweep.planned[static_cast<size_t>(index)].run;
  const fs::path directory = sweep.directory.run(run.id);
  Json json = {{"id", run.id}, {"index", index}, {"run", describe(run)}, {"directory", directory.string()}};
  if (state == SweepState::kDone || state == SweepState::kDiverged)
    json.update(result_of(read_status(RunLayout{directory})));
  json["status"] = to_string(state);
  return json;
}

/// The run of one task of a job array.
int run_index(const Sweep& sweep, const SweepCommand& command, const RunEnvironment& environment,
              bool is_json) {
  const int64_t index = command.index;
  if (index >= static_cast<int64_t>(sweep.planned.size())) {
    throw Error("there is no such run",
                {"index", std::to_string(index), fmt::format("0 to {}", sweep.planned.size() - 1)});
  }
  const PlannedRun& row = sweep.planned[static_cast<size_t>(index)];
  const SpecRun& run = row.run;
  if (const auto misplaced = find_misplaced(sweep.directory, row)) {
    if (is_json) fmt::print("{}\n", run_json(sweep, index, SweepState::kMisplaced).dump());
    tell_misplaced(sweep, *misplaced);
    return Error::kFailure;
  }
  run_one(sweep.directory, run, environment);
  const SweepState state = state_of(sweep.directory, run.id);
  if (is_json) {
    fmt::print("{}\n", run_json(sweep, index, state).dump());
  } else if (!environment.is_quiet) {
    fmt::print("{}: {}\n", describe(run), to_string(state));
  }
  if (state == SweepState::kFailed) report_failures(sweep);
  if (state == SweepState::kDone || state == SweepState::kDiverged) return 0;
  if (stop_signal() == 0 && is_open(state)) tell("{}: another process works on it\n", describe(run));
  if (stop_signal() != 0 && is_open(state) && command.is_requeuing)
    tell("{}: {}\n", signal_name(stop_signal()), requeue_own_job());
  return exit_code_of_stop(Error::kFailure);
}

void submit(const Sweep& sweep, const SweepCommand& command, const GlobalOptions& options) {
  SlurmOptions slurm = command.slurm.options;
  if (options.threads > 0) slurm.threads = options.threads;
  auto line = command_line(sweep, command.request, options, slurm.threads);
  if (options.is_quiet) line.emplace_back("--quiet");
  line.insert(line.end(), {"--requeue", "--index"});
  submit_sweep(sweep, line, slurm, options);
}

std::vector<int> parse_cores(const std::string& text) {
  std::vector<int> cores;
  for (const std::string& core : split(text, ','))
    cores.push_back(static_cast<int>(parse_integer(core, "--worker-cores")));
  return cores;
}

/// Tables at equal training loss need it evaluated: an Error now, and not when hours of runs are done.
void require_losses(const Sweep& sweep) {
  if (sweep.spec.report.at_loss.empty()) return;
  for (const PlannedRun& row : sweep.planned) {
    const auto& groups = row.plan->metric_groups;
    if (std::find(groups.begin(), groups.end(), "gaps") != groups.end()) continue;
    throw Error("at_loss needs the evaluated training loss",
                {fmt::format("[report] at_loss; {}", describe(row.run)), row.run.config.metrics,
                 "add gaps to the runs' metrics"});
  }
}

/// An Error when an option was given beside one that makes it change nothing.
void require_effect(const SweepCommand& command) {
  const auto refuse = [](const char* key, int64_t value, const char* beside) {
    throw Error(fmt::format("with {} the option changes nothing", beside),
                {key, std::to_string(value), "leave one of them out"});
  };
  const char* alone = nullptr;
  if (command.index >= 0) alone = "--index";
  if (command.slurm.is_asked) alone = "--slurm";
  if (command.is_dry_run) alone = "--dry-run";
  if (command.workers > 0 && alone != nullptr) refuse("workers", command.workers, alone);
  const bool has_more = command.slurm.is_asked || command.is_dry_run;
  if (command.index >= 0 && has_more) refuse("index", command.index, alone);
}

}  // namespace

int run_sweep(const SweepCommand& command, const GlobalOptions& options) {
  if (command.is_status) return conclude(open_sweep(command.request), options);
  const bool is_worker = !command.worker_cores.empty();
  require_effect(command);
  // Queueing a job again sends its processes the same signal once more.
  if (command.is_requeuing) watch_stop_signals(SecondSignal::kIsCounted);
  if (is_worker) pin_to(parse_cores(command.worker_cores));
  const Sweep sweep = open_sweep(command.request);
  require_quantities(sweep.spec.report, command.request.spec);
  require_losses(sweep);
  if (command.is_dry_run) return show_plan(sweep, command, options);
  const bool is_leading = !is_worker && command.index < 0 && !command.slurm.is_asked;
  const bool is_counting = is_leading || command.is_requeuing;
  watch_stop_signals(is_counting ? SecondSignal::kIsCounted : SecondSignal::kExits);
  const RunEnvironment environment{
      .device = device_to_compute_on(options), .is_quiet = options.is_quiet, .stop_signal = stop_signal};
  if (is_worker) {
    sweep.directory.create();
    stop_with_parent();
    run_worker(sweep.directory, sweep.runs(), environment);
    return exit_code_of_stop(0);
  }
  if (command.slurm.is_asked) require_own_slurm_script(sweep.directory);
  begin_sweep(sweep);
  if (command.is_retrying) forget_failures(sweep.directory, sweep.runs());
  if (command.index >= 0) return run_index(sweep, command, environment, options.is_json);
  if (command.slurm.is_asked) {
    submit(sweep, command, options);
    return 0;
  }
  const std::unique_ptr<SweepPage> page =
      command.is_watched ? std::make_unique<SweepPage>(sweep, command.page) : nullptr;
  run_here(sweep, command, options);
  const int outcome = conclude(sweep, options);
  if (page) page->show_end();
  return exit_code_of_stop(outcome);
}

}  // namespace batchplus
