#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <thread>

#include "cli/command.h"
#include "cli/serve_options.h"
#include "util/error.h"
#include "util/json.h"
#include "util/standard_streams.h"
#include "util/stop_signal.h"
#include "watch/serve_runs.h"

namespace batchplus {
namespace {

struct WatchCommand {
  std::vector<std::string> paths;
  ServeCommand page;
};

int run_watch(const WatchCommand& command, const GlobalOptions& options) {
  ServeOptions serve = command.page.serve;
  if (!command.paths.empty()) serve.paths.assign(command.paths.begin(), command.paths.end());
  watch_stop_signals(SecondSignal::kExits);
  const RunServer server(serve);
  if (options.is_json) {
    fmt::print("{}\n", Json{{"address", server.address()}, {"pid", ::getpid()}}.dump());
  } else {
    fmt::print("{}\n", server.address());
    if (!options.is_quiet) tell("Watching; stop with Ctrl-C.\n");
  }
  // Who waits for the address reads it now, also through a pipe.
  if (!flush_standard_output()) return Error::kFailure;
  const auto browser = open_page(command.page, server.address());
  while (stop_signal() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  return 0;
}

}  // namespace

void add_watch_command(CLI::App& app, GlobalOptions& options, CommandAction& action) {
  CLI::App* watch = app.add_subcommand("watch", "a page that shows runs while they run");
  add_global_options(*watch, options);
  auto command = std::make_shared<WatchCommand>();
  watch->add_option(
      "path", command->paths,
      "run directories, sweeps, or folders of them, also of ones that are still to come (default: "
      "where you are)");
  add_serve_options(*watch, command->page);
  watch->callback([command, &options, &action] {
    action = [command, &options] { return run_watch(*command, options); };
  });
}

}  // namespace batchplus
