#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <sched.h>

#include <csignal>
#include <filesystem>

#include "cli/command.h"
#include "cli/config_options.h"
#include "cli/usage.h"
#include "core/memory.h"
#include "kernels/processor.h"
#include "run/version.h"
#include "util/error.h"
#include "util/standard_streams.h"
#include "util/text.h"

namespace batchplus {
namespace {

int usable_cores() {
  cpu_set_t set;
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

/// The libraries name a key of the config, or another thing that a command has an option for, and not the
/// option: `where` is "inner_batch", a hint says {inner_batch}, and the user reads "--inner-batch".
Error with_option_name(const CLI::App& app, const Error& problem) {
  const CLI::App& called = called_command(app);
  Error::Details details = problem.details();
  const auto name_of = [&](const std::string& key) {
    const std::string option = option_of(key);
    return called.get_option_no_throw(option) != nullptr ? option : key;
  };
  details.where = name_keys(name_of(details.where), name_of);
  details.hint = name_keys(details.hint, name_of);
  return Error(problem.summary(), details, problem.exit_code());
}

int run(int argc, char** argv) {
  CLI::App app(
      "BatchPlus: trains deep networks with SVRG-family optimisers and compares how they generalise.",
      "batchplus");
  app.set_version_flag("--version", fmt::format("batchplus {} ({})", kVersion, kCommit));
  app.require_subcommand(1);
  GlobalOptions options;
  CommandAction action;
  add_train_command(app, options, action);
  add_eval_command(app, options, action);
  add_measure_command(app, options, action);
  add_models_command(app, options, action);
  add_methods_command(app, options, action);
  add_sweep_command(app, options, action);
  add_report_command(app, options, action);
  add_check_command(app, options, action);
  add_data_command(app, options, action);
  refuse_empty_values(app);
  try {
    app.parse(words_of(argc, argv));
  } catch (const CLI::ParseError& problem) {
    if (problem.get_exit_code() == 0) return app.exit(problem);
    const Error error = usage_error(app, problem);
    tell("batchplus: {}\nRun with --help for the options.\n", error.what());
    return error.exit_code();
  }
  // A file size limit then is an error like a full disk, and not the end of the process.
  ::signal(SIGXFSZ, SIG_IGN);
  keep_freed_memory();
  apply_threads(options);
  try {
    return action();
  } catch (const Error& problem) {
    throw with_option_name(app, problem);
  }
}

}  // namespace

void add_global_options(CLI::App& command, GlobalOptions& options) {
  command.add_option("--threads", options.threads, "threads to compute with (default: all cores)")
      ->check(at_least(1));
  command.add_option("--device", options.device, "cpu, cuda or cuda:I");
  command.add_flag("--json", options.is_json, "print exactly one JSON value on stdout");
  command.add_flag("--quiet", options.is_quiet, "print nothing but the result");
}

torch::Device parse_device(const std::string& text) {
  try {
    const torch::Device device(text);
    const bool is_here = device.is_cpu() || (device.is_cuda() && torch::hasCUDA());
    if (is_here) return device;
  } catch (const c10::Error&) {
    throw Error("not a device", {"--device", text, "cpu, cuda or cuda:I"});
  }
  throw Error("this libtorch cannot use the device", {"--device", text, "use cpu"});
}

void apply_threads(const GlobalOptions& options) {
  kernels::instruction_set();  // a wrong choice of it shows before anything is done
  at::set_num_threads(options.threads > 0 ? options.threads : usable_cores());
}

}  // namespace batchplus

namespace {

/// Runs the program; what goes wrong is told on standard error.
int run_and_tell(int argc, char** argv) {
  try {
    return batchplus::run(argc, argv);
  } catch (const batchplus::Error& problem) {
    batchplus::tell("batchplus: {}\n", problem.what());
    return problem.exit_code();
  } catch (const std::filesystem::filesystem_error& problem) {
    const batchplus::Error error("cannot use the path", {problem.path1().string(), problem.code().message(),
                                                         "check the path and its permissions"});
    batchplus::tell("batchplus: {}\n", error.what());
    return error.exit_code();
  } catch (const c10::Error& problem) {
    batchplus::tell("batchplus: libtorch failed: {}\n", problem.what_without_backtrace());
    return batchplus::Error::kFailure;
  } catch (const std::exception& problem) {
    batchplus::tell("batchplus: {}\n", problem.what());
    return batchplus::Error::kFailure;
  }
}

}  // namespace

int main(int argc, char** argv) {
  batchplus::hold_standard_streams();
  const int exit_code = run_and_tell(argc, argv);
  if (batchplus::flush_standard_output()) return exit_code;
  batchplus::tell("batchplus: what was printed is lost: standard output cannot be written to\n");
  return exit_code == 0 ? batchplus::Error::kFailure : exit_code;
}
