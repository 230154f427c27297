#include <fmt/format.h>
#include <fmt/ranges.h>

#include "commands/commands.h"
#include "networks/measure.h"
#include "networks/registry.h"
#include "store/run_directory.h"
#include "util/text.h"

namespace batchplus {
namespace {

constexpr int64_t kActivationBatch = 128;

/// For kActivationBatch images, extended from few: they grow by the same amount with each image.
int64_t activation_bytes(const Model& model, const NetworkOptions& options) {
  const auto measure = [&](int64_t batch) {
    return measure_activation_bytes(model, batch, options.channels, options.side);
  };
  const int64_t of_four = measure(4);
  return of_four + (measure(8) - of_four) / 4 * (kActivationBatch - 4);
}

Json describe(const NetworkInfo& info) {
  const NetworkOptions ten{};
  const NetworkOptions hundred{.classes = 100};
  const Model model = build_network(info, ten, /*seed=*/0);
  return {{"name", info.name},
          {"description", info.description},
          {"settings", info.settings},
          {"parameters", count_parameters(*model.module)},
          {"parameters_100", count_parameters(*build_network(info, hundred, /*seed=*/0).module)},
          {"macs", count_macs(model, ten.channels, ten.side)},
          {"activation_bytes", activation_bytes(model, ten)}};
}

int list_networks(const GlobalOptions& options) {
  Json list = Json::array();
  for (const NetworkInfo& info : networks()) list.push_back(describe(info));
  if (options.is_json) {
    fmt::print("{}\n", list.dump());
    return 0;
  }
  fmt::print("{:<13}{:>11}{:>13}{:>10}{:>13}  {}\n", "model", "parameters", "100 classes", "MACs",
             "activations", "settings");
  for (const Json& row : list) {
    std::vector<std::string> settings;
    for (const auto& [name, value] : row["settings"].items()) settings.push_back(name + "=" + value.dump());
    fmt::print("{:<13}{:>11}{:>13}{:>8.1f} M{:>13}  {}\n", row["name"].get<std::string>(),
               format_count(row["parameters"]), format_count(row["parameters_100"]),
               row["macs"].get<double>() / 1e6, format_bytes(row["activation_bytes"].get<double>()),
               join(settings, ","));
  }
  fmt::print(
      "For 3x32x32 images and 10 classes. MACs of one forward pass over one image; activations: memory that "
      "a training\n"
      "step on {} images keeps for its backward pass. Settings change a network: "
      "resnet20:depth=110,width=32.\n"
      "'batchplus models show NAME' lists its layers.\n",
      kActivationBatch);
  return 0;
}

std::string shape_text(const std::vector<int64_t>& shape) {
  return fmt::format("{}", fmt::join(shape, " x "));
}

int show_layers(const std::string& name, int64_t classes, const GlobalOptions& options) {
  const NetworkOptions network{.classes = classes};
  const Model model = build_network(find_network(name), network, /*seed=*/0);
  const std::vector<LayerRow> layers = list_layers(model, network.channels, network.side);
  const int64_t parameters = count_parameters(*model.module);
  const int64_t macs = count_macs(model, network.channels, network.side);
  if (options.is_json) {
    Json rows = Json::array();
    for (const LayerRow& layer : layers) {
      rows.push_back({{"name", layer.name},
                      {"kind", layer.kind},
                      {"output", layer.output},
                      {"parameters", layer.parameters},
                      {"macs", layer.macs}});
    }
    fmt::print("{}\n",
               Json({{"name", name}, {"parameters", parameters}, {"macs", macs}, {"layers", rows}}).dump());
    return 0;
  }
  fmt::print("{:<28}{:<14}{:>16}{:>12}{:>14}\n", "layer", "kind", "output", "parameters", "MACs");
  for (const LayerRow& layer : layers) {
    fmt::print("{:<28}{:<14}{:>16}{:>12}{:>14}\n", layer.name, layer.kind, shape_text(layer.output),
               format_count(layer.parameters), layer.macs > 0 ? format_count(layer.macs) : "-");
  }
  fmt::print("{:<28}{:<14}{:>16}{:>12}{:>14}\n", "all", "", "", format_count(parameters), format_count(macs));
  return 0;
}

}  // namespace

int run_models(const ModelsCommand& command, const GlobalOptions& options) {
  return command.name.empty() ? list_networks(options) : show_layers(command.name, command.classes, options);
}

}  // namespace batchplus
