// Each network computes what plain PyTorch computes: tests/fixtures/networks.py and make_networks.py.

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>

#include "layers/convolution.h"
#include "layers/normalization.h"
#include "networks/measure.h"
#include "networks/registry.h"
#include "networks/weight_file.h"
#include "support/fixture.h"
#include "support/small_networks.h"

namespace batchplus {
namespace {

constexpr uint64_t kSeed = 7;

const std::map<std::string, torch::Tensor>& expected() {
  static const auto tensors = [] {
    std::map<std::string, torch::Tensor> all;
    for (const auto& [name, tensor] : read_weights(testing::fixture("networks.pt"))) all[name] = tensor;
    return all;
  }();
  return tensors;
}

/// 8 elements, the norm, and the products with 3 vectors of signs: as make_networks.py has it.
torch::Tensor row(const torch::Tensor& tensor) {
  const torch::Tensor flat = tensor.detach().contiguous().to(torch::kFloat64).reshape(-1);
  const torch::Tensor index = torch::arange(flat.numel());
  std::vector<torch::Tensor> parts = {
      flat.index_select(0, (torch::arange(8) * (flat.numel() - 1)).div(7, "floor")),
      flat.norm().reshape({1})};
  for (const auto& [step, modulus] : {std::pair<int, int>{1, 7}, {3, 11}, {5, 101}}) {
    const torch::Tensor sign = 1 - 2 * ((index * step) % modulus % 2).to(torch::kFloat64);
    parts.push_back((flat * sign).sum().reshape({1}));
  }
  return at::cat(parts);
}

torch::Tensor rows(const std::vector<torch::Tensor>& tensors) {
  std::vector<torch::Tensor> all;
  for (const auto& tensor : tensors) all.push_back(row(tensor));
  return at::stack(all);
}

/// The largest difference, relative to the tensor's norm, or to a thousandth of the largest norm where a
/// tensor is zero but for rounding (the gradient of a bias before BatchNorm).
double relative_distance(const torch::Tensor& actual, const torch::Tensor& exact) {
  EXPECT_EQ(actual.sizes(), exact.sizes());
  const torch::Tensor norms = exact.select(1, 8);
  const torch::Tensor scale = at::maximum(norms, 1e-3 * norms.max()).unsqueeze(1);
  return ((actual - exact).abs() / scale).max().item<double>();
}

std::vector<torch::Tensor> statistics(const torch::nn::Module& module) {
  std::vector<torch::Tensor> buffers;
  for (const auto& item : module.named_buffers()) {
    if (item.key().find("num_batches") == std::string::npos) buffers.push_back(item.value());
  }
  return buffers;
}

/// Images and labels of the fixture.
std::pair<torch::Tensor, torch::Tensor> batch() {
  torch::manual_seed(kSeed);
  return {torch::rand({4, 3, 32, 32}) * 2 - 1, torch::tensor({3, 0, 9, 5})};
}

/// A network of the table, as it is or with another dropout or normalisation.
struct Case {
  std::string network;
  std::optional<double> dropout = std::nullopt;
  NormalizationKind normalization = NormalizationKind::kBatch;
  /// In the fixture.
  std::string name() const {
    if (normalization != NormalizationKind::kBatch) return network + ", " + to_string(normalization);
    return dropout ? network + ", dropout" : network;
  }
  NetworkOptions options() const { return {.dropout = dropout, .normalization = normalization}; }
};
void PrintTo(const Case& row, std::ostream* out) {
  *out << row.name();
}

/// The network as the fixture has it: perhaps with settings that make it smaller.
std::string name_in_fixture(const NetworkInfo& info) {
  const std::string with_settings = info.name + ":";
  const auto place = expected().lower_bound(with_settings);
  const bool has_settings = place != expected().end() && place->first.starts_with(with_settings);
  return has_settings ? place->first.substr(0, place->first.find('/')) : info.name;
}

/// Every network, with every normalisation unless it is large, and those of which the fixture has a case with
/// dropout.
std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const NetworkInfo& info : networks()) {
    const std::string name = name_in_fixture(info);
    cases.push_back({name});
    const Case with_dropout{name, 0.5};
    if (expected().contains(with_dropout.name() + "/loss")) cases.push_back(with_dropout);
    if (!info.has_normalization || testing::is_large(info)) continue;
    for (const NormalizationKind kind : {NormalizationKind::kGroup, NormalizationKind::kNone})
      cases.push_back({name, std::nullopt, kind});
  }
  return cases;
}

class EachNetwork : public ::testing::TestWithParam<Case> {
 protected:
  const torch::Tensor& exact(const std::string& what) const {
    return expected().at(GetParam().name() + "/" + what);
  }
  /// In training mode, with the masks of dropout that the fixture has.
  torch::Tensor forward(const torch::Tensor& images) const {
    model_.module->train();
    torch::manual_seed(kSeed);
    return model_.forward(images);
  }
  Model model_ = build_network(find_network(GetParam().network), GetParam().options(), kSeed);
};

TEST_P(EachNetwork, HasAsManyParametersAndMacsAsPyTorchCounts) {
  const NetworkInfo info = find_network(GetParam().network);
  NetworkOptions hundred = GetParam().options();
  hundred.classes = 100;
  const torch::Tensor counts =
      torch::tensor({count_parameters(*model_.module),
                     count_parameters(*build_network(info, hundred, 1).module), count_macs(model_, 3, 32)});
  EXPECT_TRUE(counts.equal(exact("counts"))) << counts << exact("counts");
}

TEST_P(EachNetwork, HasTheWeightsThatPyTorchDrawsFromTheSameSeed) {
  // The same draws; a normal's logarithm and cosine may round differently on another processor.
  EXPECT_LT(relative_distance(rows(model_.module->parameters()), exact("weights")), 1e-5);
}

TEST_P(EachNetwork, ComputesPyTorchsTrainingStep) {
  const auto [images, labels] = batch();
  model_.module->to(torch::kFloat64);
  const torch::Tensor logits = forward(images.to(torch::kFloat64));
  const torch::Tensor loss = at::cross_entropy_loss(logits, labels);
  const auto gradients = torch::autograd::grad({loss}, model_.module->parameters());
  // Double precision on both sides: thousands of sums in another order, on weights from single precision
  // draws. Without normalisation logits grow with the depth.
  const double size = GetParam().normalization == NormalizationKind::kNone
                          ? std::max(1.0, exact("logits").abs().max().item<double>())
                          : 1.0;
  EXPECT_LT((logits - exact("logits")).abs().max().item<double>(), 1e-9 * size);
  EXPECT_NEAR(loss.item<double>(), exact("loss").item<double>(), 1e-10 * size);
  EXPECT_LT(relative_distance(rows(gradients), exact("gradients")), 1e-8);
  if (const auto buffers = statistics(*model_.module); !buffers.empty()) {
    EXPECT_LT(relative_distance(rows(buffers), exact("buffers")), 1e-10);
  }
}

TEST_P(EachNetwork, IsAsNearInSinglePrecisionAsPyTorchInEitherMemoryFormat) {
  const auto [images, labels] = batch();
  // What Winograd's transforms magnify grows with the depth where nothing normalises it.
  if (GetParam().normalization == NormalizationKind::kNone) use_kernels(*model_.module, Kernels::kDirect);
  for (const auto format : {torch::MemoryFormat::Contiguous, torch::MemoryFormat::ChannelsLast}) {
    model_.memory_format = format;
    use_memory_format(model_);
    const torch::Tensor logits = forward(images.contiguous(format));
    const double distance = (logits - exact("logits")).abs().max().item<double>();
    // Another order of sums, of the same length: PyTorch's own rounding, with room for an unlucky case.
    EXPECT_LT(distance, 4 * exact("logit_distance").item<double>() + 1e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, EachNetwork, ::testing::ValuesIn(all_cases()), [](const auto& info) {
  std::string name = info.param.name();
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
});

/// Mean and standard deviation of a tensor.
std::pair<double, double> moments(const torch::Tensor& tensor) {
  return {tensor.mean().item<double>(), tensor.std().item<double>()};
}

/// Expects a layer's weight to be a sample with mean 0 and this deviation, to four standard errors.
void expect_moments(const Layer& layer, double deviation) {
  const auto [mean, std] = moments(layer.weight().detach());
  const double n = static_cast<double>(layer.weight().numel());
  EXPECT_NEAR(mean, 0, 4 * deviation / std::sqrt(n));
  EXPECT_NEAR(std, deviation, 4 * deviation / std::sqrt(2 * n));
}

bool is_convolution(const Layer& layer) {
  return dynamic_cast<const Convolution*>(&layer) != nullptr;
}

bool is_normalization(const Layer& layer) {
  return dynamic_cast<const NormalizationLayer*>(&layer) != nullptr;
}

template <class Action>
void for_each_layer(const std::string& network, const Action& action) {
  const Model model = build_network(find_network(network), {}, 1);
  for (const Layer* layer : layers_of(*model.module)) action(*layer);
}

TEST(Initialization, HasTheSpecifiedDeviations) {
  for_each_layer("resnet20", [](const Layer& layer) {
    if (is_normalization(layer)) return;
    const double fan_in = static_cast<double>(layer.weight().numel() / layer.weight().size(0));
    expect_moments(layer, std::sqrt(2 / fan_in));
  });
  for_each_layer("vgg11", [](const Layer& layer) {
    if (is_normalization(layer)) return;
    const double out = static_cast<double>(layer.weight().size(0));
    expect_moments(layer, is_convolution(layer) ? std::sqrt(2 / (9 * out)) : 0.01);
    EXPECT_EQ(layer.bias().abs().max().item<double>(), 0);
  });
  for_each_layer("densenet-bc", [](const Layer& layer) {
    if (!is_convolution(layer)) return;
    const double fan_out = static_cast<double>(layer.weight().numel() / layer.weight().size(1));
    expect_moments(layer, std::sqrt(2 / fan_out));
  });
  for_each_layer("alexnet", [](const Layer& layer) {
    // U(-a, a) has the deviation a / sqrt(3).
    const double fan_in = static_cast<double>(layer.weight().numel() / layer.weight().size(0));
    EXPECT_LE(layer.weight().abs().max().item<double>(), 1 / std::sqrt(fan_in));
    EXPECT_NEAR(moments(layer.weight().detach()).second * std::sqrt(3 * fan_in), 1, 0.05);
  });
}

}  // namespace
}  // namespace batchplus
