#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include "cli/command.h"
#include "util/error.h"
#include "util/json.h"
#include "util/process.h"
#include "util/standard_streams.h"
#include "util/stop_signal.h"
#include "watch/serve_runs.h"

namespace batchplus {
namespace {

struct WatchCommand {
  std::vector<std::string> paths;
  ServeOptions serve;
  bool opens_browser = false;
};

int run_watch(const WatchCommand& command, const GlobalOptions& options) {
  ServeOptions serve = command.serve;
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
  std::optional<ChildProcess> browser;
  if (command.opens_browser) {
    try {
      browser.emplace(std::vector<std::string>{"xdg-open", server.address()},
                      std::filesystem::path("/dev/null"));
    } catch (const Error&) {
      tell("There is no xdg-open here: open the address yourself.\n");
    }
  }
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
  watch->add_option("--port", command->serve.port, "port to listen on (default: a free one)")
      ->check(CLI::Range(0, 65535));
  watch->add_option(
      "--host", command->serve.host,
      "address to listen on (default: 127.0.0.1); any but this machine's own needs a token, which "
      "is in the address printed");
  watch->add_flag("--open", command->opens_browser, "open the page in a browser");
  watch->callback([command, &options, &action] {
    action = [command, &options] { return run_watch(*command, options); };
  });
}

}  // namespace batchplus
