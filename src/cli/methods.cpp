#include <fmt/format.h>

#include "cli/command.h"

namespace batchplus {
namespace {

int run_methods(const Catalog& catalog, const GlobalOptions& options) {
  if (options.is_json) {
    fmt::print("{}\n", to_json(catalog).at("methods").dump());
    return 0;
  }
  fmt::print("{:<14}{:<61}{:<7}{}\n", "method", "inner step", "B", "gradient evaluations");
  for (const Catalog::Method& method : catalog.methods) {
    fmt::print("{:<14}{:<61}{:<7}{}\n", method.name, method.equation, method.outer_batch, method.cost);
  }
  fmt::print(
      "g_t is the mean gradient of inner batch t (b samples), w the snapshot, mu the mean gradient at w over "
      "the\n"
      "outer batch (B samples), K = B/b. Any estimator goes with any --update-rule and --coefficient.\n");
  return 0;
}

}  // namespace

void add_methods_command(CLI::App& app, GlobalOptions& options, CommandAction& action,
                         const Catalog& catalog) {
  CLI::App* methods = app.add_subcommand("methods", "list the optimisers");
  add_global_options(*methods, options);
  methods->callback([&] { action = [&] { return run_methods(catalog, options); }; });
}

}  // namespace batchplus
