#include <fmt/format.h>

#include "cli/command.h"
#include "methods/registry.h"
#include "store/run_directory.h"

namespace batchplus {
namespace {

int run_methods(const GlobalOptions& options) {
  Json list = Json::array();
  for (const MethodInfo& info : methods()) {
    list.push_back({{"name", info.name},
                    {"equation", info.equation},
                    {"cost", info.cost_words},
                    {"coefficient", info.coefficient},
                    {"outer_batch", info.outer_batch},
                    {"update_rule", info.update}});
  }
  if (options.is_json) {
    fmt::print("{}\n", list.dump());
    return 0;
  }
  fmt::print("{:<14}{:<61}{:<7}{}\n", "method", "inner step", "B", "gradient evaluations");
  for (const MethodInfo& info : methods()) {
    fmt::print("{:<14}{:<61}{:<7}{}\n", info.name, info.equation, info.outer_batch, info.cost_words);
  }
  fmt::print(
      "g_t is the mean gradient of inner batch t (b samples), w the snapshot, mu the mean gradient at w over "
      "the\n"
      "outer batch (B samples), K = B/b. Any estimator goes with any --update-rule and --coefficient.\n");
  return 0;
}

}  // namespace

void add_methods_command(CLI::App& app, GlobalOptions& options, CommandAction& action) {
  CLI::App* methods = app.add_subcommand("methods", "list the optimisers");
  add_global_options(*methods, options);
  methods->callback([&] { action = [&options] { return run_methods(options); }; });
}

}  // namespace batchplus
