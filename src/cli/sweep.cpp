#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <memory>
#include <thread>

#include "cli/command.h"
#include "cli/spec_options.h"
#include "cli/sweep_screen.h"
#include "experiment/sweep.h"
#include "experiment/sweep_plan.h"
#include "util/error.h"
#include "util/file.h"
#include "util/process.h"
#include "util/stop_signal.h"
#include "util/text.h"

namespace batchplus {
namespace {

namespace fs = std::filesystem;

struct SweepCommand {
  SpecOptions spec;
  std::string data_directory;
  int64_t workers = 0;
  int64_t index = -1;
  bool is_dry_run = false;
  bool is_calibrated = true;
  bool is_retrying = false;
  bool is_slurm = false;
  /// This process is a worker of another one; pinned to these cores.
  std::string worker_cores;
};

Sweep open_sweep(const SweepCommand& command) {
  Sweep sweep = open_sweep(command.spec);
  for (PlannedRun& row : sweep.planned) row.run.config.data_dir = command.data_directory;
  return sweep;
}

std::vector<int> usable_cores() {
  cpu_set_t set;
  std::vector<int> cores;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return {0};
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

void pin_to(const std::string& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const std::string& core : split(cores, ',')) CPU_SET(parse_integer(core, "--worker-cores"), &set);
  ::sched_setaffinity(0, sizeof set, &set);
}

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
  if (command.is_calibrated) calibrate(sweep.planned, parse_device(options.device));
  if (!options.is_json) {
    print_plan(sweep, command);
    return 0;
  }
  Json rows = Json::array();
  for (const PlannedRun& row : sweep.planned) rows.push_back(plan_json(row));
  fmt::print("{}\n", Json{{"spec", sweep.spec.name}, {"scale", sweep.scale}, {"runs", rows}}.dump());
  return 0;
}

/// The command line of a worker on these cores.
std::vector<std::string> worker_command(const Sweep& sweep, const SweepCommand& command,
                                        const GlobalOptions& options, const std::vector<int>& cores) {
  std::vector<std::string> arguments = {fs::read_symlink("/proc/self/exe").string(), "sweep"};
  const auto add = [&](const std::vector<std::string>& more) {
    arguments.insert(arguments.end(), more.begin(), more.end());
  };
  add(spec_arguments(command.spec));
  add({"--out", sweep.directory.root.string(), "--data-dir", command.data_directory, "--device",
       options.device});
  add({"--threads", std::to_string(cores.size()), "--worker-cores", fmt::format("{}", fmt::join(cores, ",")),
       "--quiet"});
  return arguments;
}

/// The cores of each worker: as many as it has threads, all of them in use, and shared when there are not
/// enough.
std::vector<std::vector<int>> share_out(const std::vector<int>& cores, int64_t workers, int64_t threads) {
  const auto all = static_cast<int64_t>(cores.size());
  if (workers == 0) workers = threads > 0 ? std::max<int64_t>(1, all / threads) : all;
  if (threads == 0) threads = std::max<int64_t>(1, all / workers);
  std::vector<std::vector<int>> shares(static_cast<size_t>(workers));
  for (int64_t i = 0; i < workers * std::min(threads, all); ++i) {
    shares[static_cast<size_t>(i / std::min(threads, all))].push_back(cores[static_cast<size_t>(i % all)]);
  }
  return shares;
}

/// Runs workers until nothing is left, or they stop getting on.
void run_workers(const Sweep& sweep, const SweepCommand& command, const GlobalOptions& options) {
  const auto shares = share_out(usable_cores(), command.workers, options.threads);
  SweepScreen screen(options.is_quiet);
  double done_before = -1;
  while (true) {
    const SweepTally before = tally(sweep.directory, sweep.planned);
    screen.show(before);
    // A worker that was killed leaves its run behind for the next round.
    if (before.is_finished() || before.done <= done_before || stop_signal() != 0) break;
    done_before = before.done;
    std::vector<std::unique_ptr<ChildProcess>> workers;
    for (size_t w = 0; w < shares.size(); ++w) {
      workers.push_back(std::make_unique<ChildProcess>(worker_command(sweep, command, options, shares[w]),
                                                       sweep.directory.log(static_cast<int64_t>(w))));
    }
    const auto is_running = [](const auto& worker) { return !worker->exit_code(); };
    int forwarded = 0;
    while (std::any_of(workers.begin(), workers.end(), is_running)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(stop_signal() != 0 ? 50 : 500));
      // The first makes them save their runs and stop, the second stop at once.
      for (; forwarded < stop_signal_count(); ++forwarded) {
        for (const auto& worker : workers) worker->send(SIGTERM);
      }
      screen.show(tally(sweep.directory, sweep.planned));
    }
  }
  screen.finish();
}

void report_failures(const Sweep& sweep) {
  for (const PlannedRun& row : sweep.planned) {
    if (state_of(sweep.directory, row.run.id) != SweepState::kFailed) continue;
    const Json failure = Json::parse(read_file(sweep.directory.failure(row.run.id)), nullptr, false);
    fmt::print(stderr, "failed: {}: {}\n", describe(row.run),
               failure.is_object() ? failure.value("error", "") : "unknown");
  }
}

/// The outcome in words or JSON; 0 when every run has a result.
int conclude(const Sweep& sweep, const GlobalOptions& options) {
  const SweepTally result = tally(sweep.directory, sweep.planned);
  if (options.is_json) {
    Json json = {
        {"spec", sweep.spec.name}, {"scale", sweep.scale}, {"directory", sweep.directory.root.string()}};
    for (const SweepState state : {SweepState::kDone, SweepState::kDiverged, SweepState::kFailed,
                                   SweepState::kRunning, SweepState::kWaiting}) {
      json[to_string(state)] = result.count(state);
    }
    fmt::print("{}\n", json.dump());
  } else {
    fmt::print("{} ({}): {}, in {}\n", sweep.spec.name, sweep.scale, describe(result),
               sweep.directory.root.string());
  }
  report_failures(sweep);
  return result.is_finished() && result.count(SweepState::kFailed) == 0 ? 0 : Error::kFailure;
}

/// A job array: one task a run.
int submit_to_slurm(const Sweep& sweep, const SweepCommand& command, const GlobalOptions& options) {
  const fs::path script = sweep.directory.root / "sweep.slurm";
  const int threads = options.threads > 0 ? options.threads : 4;
  SpecOptions absolute = command.spec;
  absolute.spec = fs::absolute(absolute.spec).string();
  std::vector<std::string> quoted;
  for (const std::string& argument : spec_arguments(absolute))
    quoted.push_back(fmt::format("'{}'", argument));
  write_file_atomically(
      script,
      fmt::format("#!/bin/sh\n#SBATCH --job-name={0}\n#SBATCH --array=0-{1}\n#SBATCH --cpus-per-task={2}\n"
                  "#SBATCH --output={3}/logs/slurm-%a.log\n"
                  "exec '{4}' sweep {5} --out '{3}' --data-dir '{6}' --threads {2} "
                  "--index \"$SLURM_ARRAY_TASK_ID\" --quiet\n",
                  sweep.spec.name, sweep.planned.size() - 1, threads,
                  fs::absolute(sweep.directory.root).string(), fs::read_symlink("/proc/self/exe").string(),
                  join(quoted, " "), command.data_directory));
  const ProcessResult submitted = run_process({"sbatch", script.string()}, fs::current_path());
  if (submitted.exit_code != 0) {
    throw Error(
        "the job array was written and not submitted",
        {"sbatch", submitted.output, fmt::format("submit it where Slurm is: sbatch {}", script.string())},
        Error::kFailure);
  }
  fmt::print("{}", submitted.output);
  return 0;
}

/// 128 and the signal's number after one, else the code given.
int exit_code_of_stop(int otherwise) {
  constexpr int kExitSignalled = 128;
  return stop_signal() != 0 ? kExitSignalled + stop_signal() : otherwise;
}

int run_sweep(const SweepCommand& command, const GlobalOptions& options) {
  if (!command.worker_cores.empty()) pin_to(command.worker_cores);
  const Sweep sweep = open_sweep(command);
  if (command.is_dry_run) return show_plan(sweep, command, options);
  sweep.directory.create();
  const bool is_worker = !command.worker_cores.empty();
  const bool is_leading = !is_worker && command.index < 0 && !command.is_slurm;
  watch_stop_signals(is_leading ? SecondSignal::kIsCounted : SecondSignal::kExits);
  const RunEnvironment environment{
      .device = parse_device(options.device), .is_quiet = options.is_quiet, .stop_signal = stop_signal};
  if (is_worker) {
    stop_with_parent();
    run_worker(sweep.directory, sweep.runs(), environment);
    return exit_code_of_stop(0);
  }
  if (command.is_retrying) forget_failures(sweep.directory, sweep.runs());
  if (command.index >= 0) {
    if (command.index >= static_cast<int64_t>(sweep.planned.size())) {
      throw Error("there is no such run", {"--index", std::to_string(command.index),
                                           fmt::format("0 to {}", sweep.planned.size() - 1)});
    }
    const SpecRun& run = sweep.planned[static_cast<size_t>(command.index)].run;
    run_one(sweep.directory, run, environment);
    const SweepState state = state_of(sweep.directory, run.id);
    if (!options.is_quiet) fmt::print("{}: {}\n", describe(run), to_string(state));
    if (state == SweepState::kFailed) report_failures(sweep);
    const bool has_ended = state == SweepState::kDone || state == SweepState::kDiverged;
    return exit_code_of_stop(has_ended ? 0 : Error::kFailure);
  }
  if (command.is_slurm) return submit_to_slurm(sweep, command, options);
  run_workers(sweep, command, options);
  return exit_code_of_stop(conclude(sweep, options));
}

}  // namespace

void add_sweep_command(CLI::App& app, GlobalOptions& options, CommandAction& action) {
  CLI::App* sweep = app.add_subcommand(
      "sweep", "all runs of a spec, in parallel; finished ones are skipped, interrupted ones resumed");
  auto command = std::make_shared<SweepCommand>();
  CLI::App* status = sweep->add_subcommand("status", "how far a sweep is");
  for (CLI::App* either : {sweep, status}) {
    add_global_options(*either, options);
    either->add_option("spec", command->spec.spec, "TOML file, like specs/paper/table3.toml");
    add_spec_options(*either, command->spec);
    either->add_option("--out", command->spec.directory, "where its runs are (default: sweeps/SPEC-SCALE)");
  }
  sweep->add_option("--data-dir", command->data_directory, "where datasets are");
  sweep
      ->add_option("--workers", command->workers,
                   "processes, each on its own --threads cores (default: as many as fit, one thread each)")
      ->check(CLI::PositiveNumber);
  sweep->add_flag("--dry-run", command->is_dry_run, "list the runs and what they cost, and run none");
  sweep->add_flag("!--no-calibration", command->is_calibrated, "a dry run does not time this machine");
  sweep->add_option("--index", command->index, "run this one alone, counted from 0 as --dry-run lists them")
      ->check(CLI::NonNegativeNumber);
  sweep->add_flag("--retry-failed", command->is_retrying, "try runs again that failed before");
  sweep->add_flag("--slurm", command->is_slurm, "submit a Slurm job array, one task a run");
  sweep->add_option("--worker-cores", command->worker_cores)->group("");
  sweep->callback([command, &options, &action, status] {
    if (status->parsed()) return;
    action = [command, &options] { return run_sweep(*command, options); };
  });
  status->callback([command, &options, &action] {
    action = [command, &options] { return conclude(open_sweep(*command), options); };
  });
}

}  // namespace batchplus
