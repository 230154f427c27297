#include "networks/registry.h"

#include <fmt/format.h>
#include <torch/utils.h>

#include "networks/alexnet.h"
#include "networks/densenet.h"
#include "networks/mlp.h"
#include "networks/resnet.h"
#include "networks/small_cnn.h"
#include "networks/vgg.h"
#include "networks/wide_resnet.h"
#include "util/error.h"
#include "util/table.h"
#include "util/text.h"

namespace batchplus {
namespace {

constexpr auto kPlanar = torch::MemoryFormat::Contiguous;
constexpr auto kChannelsLast = torch::MemoryFormat::ChannelsLast;

Model make_mlp(const NetworkOptions& options, NetworkSettings settings) {
  return Model(std::make_shared<Mlp>(Mlp::Options{.inputs = options.channels * options.side * options.side,
                                                  .hidden = settings["hidden"],
                                                  .classes = options.classes}));
}

Model make_small_cnn(const NetworkOptions& options, NetworkSettings settings) {
  return Model(std::make_shared<SmallCnn>(SmallCnn::Options{.channels = options.channels,
                                                            .side = options.side,
                                                            .classes = options.classes,
                                                            .width = settings["width"],
                                                            .hidden = settings["hidden"],
                                                            .dropout = *options.dropout,
                                                            .normalization = options.normalization}));
}

Model make_alexnet(const NetworkOptions& options, NetworkSettings settings) {
  return Model(std::make_shared<AlexNet>(AlexNet::Options{
      .channels = options.channels, .classes = options.classes, .width = settings["width"]}));
}

Model make_vgg(const NetworkOptions& options, NetworkSettings settings) {
  return Model(std::make_shared<Vgg>(Vgg::Options{.depth = settings["depth"],
                                                  .channels = options.channels,
                                                  .classes = options.classes,
                                                  .width = settings["width"],
                                                  .dropout = *options.dropout,
                                                  .normalization = options.normalization}));
}

Model make_resnet(const NetworkOptions& options, NetworkSettings settings) {
  return Model(std::make_shared<Resnet>(Resnet::Options{.depth = settings["depth"],
                                                        .channels = options.channels,
                                                        .classes = options.classes,
                                                        .width = settings["width"],
                                                        .normalization = options.normalization}));
}

template <bool kIsBottleneck>
Model make_densenet(const NetworkOptions& options, NetworkSettings settings) {
  return Model(std::make_shared<Densenet>(Densenet::Options{.depth = settings["depth"],
                                                            .growth = settings["growth"],
                                                            .is_bottleneck = kIsBottleneck,
                                                            .reduction = kIsBottleneck ? 0.5 : 1.0,
                                                            .channels = options.channels,
                                                            .classes = options.classes,
                                                            .dropout = *options.dropout,
                                                            .normalization = options.normalization}));
}

NetworkInfo resnet(int64_t depth) {
  return {.name = fmt::format("resnet{}", depth),
          .description = fmt::format("residual network of {} layers", depth),
          .settings = {{"depth", depth}, {"width", 16}},
          .small = {{"width", 4}},
          .has_normalization = true,
          .least_side = 4,
          .memory_format = kChannelsLast,
          .build = make_resnet};
}

NetworkInfo vgg(int64_t depth) {
  return {.name = fmt::format("vgg{}", depth),
          .description = "VGG with BatchNorm, fully connected layers of 512",
          .settings = {{"depth", depth}, {"width", 64}},
          .small = {{"width", 8}},
          .dropout = 0.0,
          .has_normalization = true,
          .least_side = 32,
          .memory_format = kChannelsLast,
          .build = make_vgg};
}

Model make_wide_resnet(const NetworkOptions& options, NetworkSettings settings) {
  return Model(std::make_shared<WideResnet>(WideResnet::Options{.depth = settings["depth"],
                                                                .width = settings["width"],
                                                                .channels = options.channels,
                                                                .classes = options.classes,
                                                                .dropout = *options.dropout,
                                                                .normalization = options.normalization}));
}

NetworkInfo wide_resnet(int64_t depth, int64_t width) {
  return {.name = fmt::format("wrn-{}-{}", depth, width),
          .description = fmt::format("residual network of {} layers, {} times as wide", depth, width),
          .settings = {{"depth", depth}, {"width", width}},
          .small = {{"depth", 10}, {"width", 1}},
          .dropout = 0.0,
          .has_normalization = true,
          .least_side = 4,
          .memory_format = kChannelsLast,
          .build = make_wide_resnet};
}

/// "depth=26,width=32" over the row's defaults.
void change_settings(NetworkInfo& info, const std::string& text) {
  std::vector<std::string> names;
  for (const auto& [name, value] : info.settings) names.push_back(name);
  for (const auto& part : split(text, ',')) {
    const auto halves = split(part, '=');
    const bool is_known = halves.size() == 2 && info.settings.contains(halves[0]);
    if (!is_known) {
      throw Error(
          fmt::format("not a setting of {}", info.name),
          {"model", part, fmt::format("{}:NAME=NUMBER with one of: {}", info.name, join(names, ", "))});
    }
    const int64_t value = parse_integer(halves[1], "model");
    constexpr int64_t kMost = 1 << 16;
    if (value < 1 || value > kMost) {
      throw Error("value out of range", {"model", part, fmt::format("give a number from 1 to {}", kMost)});
    }
    info.settings[halves[0]] = value;
  }
}

}  // namespace

const std::vector<NetworkInfo>& networks() {
  static const std::vector<NetworkInfo> table = {
      {.name = "mlp",
       .description = "two hidden layers of 100",
       .settings = {{"hidden", 100}},
       .memory_format = kPlanar,
       .build = make_mlp},
      {.name = "smallcnn",
       .description = "three convolutions with BatchNorm, dropout, two linear layers",
       .settings = {{"width", 32}, {"hidden", 128}},
       .small = {{"width", 8}},
       .dropout = 0.25,
       .has_normalization = true,
       .memory_format = kChannelsLast,
       .build = make_small_cnn},
      {.name = "alexnet",
       .description = "five convolutions, one linear layer",
       .settings = {{"width", 64}},
       .small = {{"width", 8}},
       .least_side = 32,
       .memory_format = kChannelsLast,
       .build = make_alexnet},
      vgg(11),
      vgg(19),
      resnet(20),
      resnet(32),
      resnet(44),
      resnet(56),
      {.name = "densenet",
       .description = "dense network of 40 layers, growth 12",
       .settings = {{"depth", 40}, {"growth", 12}},
       .small = {{"depth", 16}, {"growth", 4}},
       .dropout = 0.0,
       .has_normalization = true,
       .least_side = 4,
       .memory_format = kChannelsLast,
       .build = make_densenet<false>},
      {.name = "densenet-bc",
       .description = "dense network of 100 layers with bottlenecks, growth 12",
       .settings = {{"depth", 100}, {"growth", 12}},
       .small = {{"depth", 16}, {"growth", 4}},
       .dropout = 0.0,
       .has_normalization = true,
       .least_side = 4,
       .memory_format = kChannelsLast,
       .build = make_densenet<true>},
      wide_resnet(16, 4),
      wide_resnet(28, 10),
  };
  return table;
}

NetworkInfo find_network(const std::string& name) {
  const size_t colon = name.find(':');
  NetworkInfo info = find_row(networks(), name.substr(0, colon), "model", "model");
  if (colon != std::string::npos) {
    change_settings(info, name.substr(colon + 1));
    info.name = name;
  }
  return info;
}

Model build_network(const NetworkInfo& info, const NetworkOptions& options, uint64_t seed) {
  if (options.dropout) {
    if (!info.dropout && *options.dropout != 0) {
      throw Error("the model has no dropout",
                  {"dropout", format_number(*options.dropout), "leave the option out"});
    }
    if (!(*options.dropout >= 0 && *options.dropout < 1)) {
      throw Error("not a probability",
                  {"dropout", format_number(*options.dropout), "give a number from 0 to below 1"});
    }
  }
  if (!info.has_normalization && options.normalization != NormalizationKind::kBatch) {
    throw Error(fmt::format("{} has no normalisation layers", info.name),
                {"normalization", to_string(options.normalization), "leave the option out"});
  }
  if (options.side < info.least_side) {
    throw Error(fmt::format("the images are too small for {}", info.name),
                {"model", fmt::format("{0} x {0}", options.side),
                 fmt::format("it takes {0} x {0} or more", info.least_side)});
  }
  NetworkOptions complete = options;
  complete.dropout = options.dropout.value_or(info.dropout.value_or(0));
  torch::manual_seed(seed);
  Model model = info.build(complete, info.settings);
  model.memory_format = info.memory_format;
  use_memory_format(model);
  return model;
}

int64_t count_parameters(const torch::nn::Module& module) {
  int64_t count = 0;
  for (const auto& parameter : module.parameters()) count += parameter.numel();
  return count;
}

}  // namespace batchplus
