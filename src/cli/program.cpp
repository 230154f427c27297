#include "cli/program.h"

#include <fmt/format.h>

#include <csignal>
#include <filesystem>

#include "cli/config_options.h"
#include "cli/usage.h"
#include "cli/version_text.h"
#include "util/error.h"
#include "util/standard_streams.h"
#include "util/text.h"

namespace batchplus {
namespace {

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

/// One row a command.
void add_commands(CLI::App& app, GlobalOptions& options, CommandAction& action, const ProgramParts& parts) {
  add_train_command(app, options, action, parts.torch);
  add_eval_command(app, options, action, parts.torch);
  add_measure_command(app, options, action, parts.torch, parts.catalog);
  add_models_command(app, options, action, parts.torch);
  add_methods_command(app, options, action, parts.catalog);
  add_sweep_command(app, options, action, parts.torch);
  add_report_command(app, options, action);
  add_watch_command(app, options, action);
  add_check_command(app, options, action);
  add_data_command(app, options, action, parts.torch);
}

int run(int argc, char** argv, const ProgramParts& parts) {
  CLI::App app;
  GlobalOptions options;
  CommandAction action;
  build_app(app, options, action, parts);
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
  try {
    return parts.carry_out(action, options);
  } catch (const Error& problem) {
    throw with_option_name(app, problem);
  }
}

/// What goes wrong is told on standard error.
int run_and_tell(int argc, char** argv, const ProgramParts& parts) {
  try {
    return run(argc, argv, parts);
  } catch (const Error& problem) {
    tell("batchplus: {}\n", problem.what());
    return problem.exit_code();
  } catch (const std::filesystem::filesystem_error& problem) {
    const Error error("cannot use the path", {problem.path1().string(), problem.code().message(),
                                              "check the path and its permissions"});
    tell("batchplus: {}\n", error.what());
    return error.exit_code();
  } catch (const std::exception& problem) {
    tell("batchplus: {}\n", problem.what());
    return Error::kFailure;
  }
}

}  // namespace

void build_app(CLI::App& app, GlobalOptions& options, CommandAction& action, const ProgramParts& parts) {
  app.name("batchplus");
  app.description(
      "BatchPlus: trains deep networks with SVRG-family optimisers and compares how they generalise.");
  app.set_version_flag("--version", [&parts] { return version_text(parts.catalog); });
  app.require_subcommand(1);
  add_commands(app, options, action, parts);
  refuse_empty_values(app);
}

void add_global_options(CLI::App& command, GlobalOptions& options) {
  command.add_option("--threads", options.threads, "threads to compute with (default: all cores)")
      ->check(at_least(1));
  command.add_option("--device", options.device, "cpu, cuda or cuda:I");
  command.add_flag("--json", options.is_json,
                   "print exactly one JSON value on stdout, if the command succeeds");
  command.add_flag("--quiet", options.is_quiet, "print nothing but the result");
}

int run_program(int argc, char** argv, const ProgramParts& parts) {
  hold_standard_streams();
  const int exit_code = run_and_tell(argc, argv, parts);
  if (flush_standard_output()) return exit_code;
  tell("batchplus: what was printed is lost: standard output cannot be written to\n");
  return exit_code == 0 ? Error::kFailure : exit_code;
}

}  // namespace batchplus
