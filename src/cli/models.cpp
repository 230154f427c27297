#include <fmt/format.h>

#include "cli/command.h"
#include "networks/registry.h"
#include "store/run_directory.h"
#include "util/text.h"

namespace batchplus {
namespace {

int run_models(const GlobalOptions& options) {
  Json list = Json::array();
  for (const NetworkInfo& info : networks()) {
    const NetworkOptions ten{};
    const NetworkOptions hundred{.classes = 100};
    const Model model = build_network(info, ten, /*seed=*/0);
    list.push_back({{"name", info.name},
                    {"description", info.description},
                    {"parameters", count_parameters(*model.module)},
                    {"parameters_100", count_parameters(*build_network(info, hundred, /*seed=*/0).module)},
                    {"macs", count_macs(model, ten.channels, ten.side)}});
  }
  if (options.is_json) {
    fmt::print("{}\n", list.dump());
    return 0;
  }
  fmt::print("{:<14}{:>14}{:>14}{:>10}  {}\n", "model", "parameters", "100 classes", "MACs", "");
  for (const Json& row : list) {
    fmt::print("{:<14}{:>14}{:>14}{:>8.1f} M  {}\n", row["name"].get<std::string>(),
               format_count(row["parameters"]), format_count(row["parameters_100"]),
               row["macs"].get<double>() / 1e6, row["description"].get<std::string>());
  }
  fmt::print("For 3x32x32 images and 10 classes; MACs of one forward pass over one image.\n");
  return 0;
}

}  // namespace

void add_models_command(CLI::App& app, GlobalOptions& options, CommandAction& action) {
  CLI::App* models = app.add_subcommand("models", "list the networks");
  add_global_options(*models, options);
  models->callback([&] { action = [&options] { return run_models(options); }; });
}

}  // namespace batchplus
