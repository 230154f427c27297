#include "networks/registry.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <map>

#include "networks/measure.h"
#include "networks/weight_file.h"
#include "support/expect_error.h"

namespace batchplus {
namespace {

using testing::expect_error;

// The published ones. That every network of the table has as many as PyTorch counts: networks_test.cpp.
TEST(Networks, HaveTheirParameterCounts) {
  const std::map<std::string, std::pair<int64_t, int64_t>> counts = {
      {"mlp", {318410, 327500}},
      // 27*32 + 2*32 + 288*64 + 2*64 + 576*128 + 2*128 + 2049*128 + 129*C
      {"smallcnn", {357034, 368644}},
      {"alexnet", {2472266, 2495396}},
      {"vgg11", {9756426, 9802596}},
      {"vgg19", {20565834, 20612004}},
      {"resnet20", {269722, 275572}},
      {"resnet32", {464154, 470004}},
      {"resnet44", {658586, 664436}},
      {"resnet56", {853018, 858868}},
      {"densenet", {1059298, 1100428}},
      {"densenet-bc", {769162, 800032}},
  };
  for (const auto& [name, expected] : counts) {
    const auto count = [&](int64_t classes) {
      return count_parameters(*build_network(find_network(name), {.classes = classes}, 1).module);
    };
    EXPECT_EQ(count(10), expected.first) << name;
    EXPECT_EQ(count(100), expected.second) << name;
  }
}

TEST(Networks, CountTheSpecifiedMacs) {
  const std::map<std::string, double> millions = {
      {"alexnet", 15.0}, {"vgg11", 153},      {"vgg19", 399},    {"resnet20", 41},    {"resnet32", 68.9},
      {"resnet44", 97},  {"resnet56", 125.5}, {"densenet", 283}, {"densenet-bc", 288}};
  for (const auto& [name, expected] : millions) {
    // The specification rounds to its last digit.
    EXPECT_NEAR(static_cast<double>(count_macs(build_network(find_network(name), {}, 1), 3, 32)) / 1e6,
                expected, 0.51)
        << name;
  }
}

TEST(FindNetwork, TakesSettings) {
  const auto count = [](const std::string& name) {
    return count_parameters(*build_network(find_network(name), {}, 1).module);
  };
  EXPECT_EQ(count("resnet20:depth=32"), count("resnet32"));
  EXPECT_EQ(count("densenet:depth=40,growth=12"), count("densenet"));
  EXPECT_GT(count("densenet:growth=24"), 3 * count("densenet"));
  EXPECT_EQ(count("mlp:hidden=10"), 3072 * 10 + 10 + 110 + 110);
  expect_error([] { find_network("resnet20:deep=3"); },
               {"not a setting of resnet20", "deep=3", "depth, width"});
  expect_error([] { find_network("resnet20:depth=x"); }, {"model"});
  expect_error([] { find_network("resnet20:depth=0"); }, {"out of range", "depth=0"});
  expect_error([] { find_network("resnet20:"); }, {"not a setting"});
  expect_error([&] { count("resnet20:depth=21"); }, {"no such depth", "6n + 2"});
  expect_error([&] { count("resnet20:width=5"); }, {"no such width", "width=5", "even"});
  expect_error([&] { count("densenet-bc:depth=41"); }, {"no such depth", "6n + 4"});
  expect_error([&] { count("vgg11:depth=12"); }, {"no such depth", "11 or 19"});
}

TEST(Networks, CountMacsFromTheirShapes) {
  const auto macs = [](const char* name) {
    return count_macs(build_network(find_network(name), {}, 1), 3, 32);
  };
  EXPECT_EQ(macs("mlp"), 3072 * 100 + 100 * 100 + 100 * 10);
  EXPECT_EQ(macs("smallcnn"),
            16 * 16 * 27 * 32 + 8 * 8 * 288 * 64 + 4 * 4 * 576 * 128 + 2048 * 128 + 128 * 10);
}

TEST(Networks, TakeImagesOfEveryDatasetToLogits) {
  for (const auto& info : networks()) {
    for (const auto& [channels, side] : {std::pair<int64_t, int64_t>{3, 32}, {1, 28}}) {
      if (side < info.least_side) continue;
      const Model model = build_network(info, {.channels = channels, .side = side, .classes = 7}, 1);
      EXPECT_EQ(model.forward(torch::randn({2, channels, side, side})).sizes(), (std::vector<int64_t>{2, 7}));
    }
  }
}

TEST(BuildNetwork, RefusesImagesThatVanish) {
  expect_error([] { build_network(find_network("vgg11"), {.channels = 1, .side = 28}, 1); },
               {"too small for vgg11", "28 x 28", "32 x 32"});
}

TEST(BuildNetwork, DependsOnTheSeedAlone) {
  const auto hash = [](uint64_t seed) {
    torch::randn({5});
    return weights_sha256(state_dict(*build_network(find_network("smallcnn"), {}, seed).module));
  };
  EXPECT_EQ(hash(1), hash(1));
  EXPECT_NE(hash(1), hash(2));
}

TEST(BuildNetwork, RefusesImpossibleDropout) {
  const auto build = [](const char* name, double dropout) {
    build_network(find_network(name), {.dropout = dropout}, 1);
  };
  EXPECT_NO_THROW(build("smallcnn", 0));
  EXPECT_NO_THROW(build("mlp", 0));
  expect_error([&] { build("mlp", 0.5); }, {"no dropout", "0.5"});
  expect_error([&] { build("smallcnn", 1); }, {"probability"});
}

TEST(BuildNetwork, RefusesToChooseANormalizationThatIsNotThere) {
  for (const NetworkInfo& info : networks()) {
    if (info.has_normalization) continue;
    EXPECT_NO_THROW(build_network(info, {.normalization = NormalizationKind::kBatch}, 1));
    expect_error([&] { build_network(info, {.normalization = NormalizationKind::kGroup}, 1); },
                 {info.name, "no normalisation layers", "group"});
  }
}

TEST(BuildNetwork, HasTheNormalizationThatItsRowSays) {
  for (const NetworkInfo& info : networks()) {
    const Model model = build_network(info, {}, 1);
    int64_t norms = 0;
    for (const Layer* layer : layers_of(*model.module))
      norms += dynamic_cast<const NormalizationLayer*>(layer) != nullptr ? 1 : 0;
    EXPECT_EQ(norms > 0, info.has_normalization) << info.name;
  }
}

TEST(FindNetwork, SuggestsTheNearest) {
  expect_error([] { find_network("smalcnn"); }, {"unknown model", "smalcnn", "did you mean 'smallcnn'?"});
}

}  // namespace
}  // namespace batchplus
