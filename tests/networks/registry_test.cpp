#include "networks/registry.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "networks/weight_file.h"
#include "support/expect_error.h"

namespace batchplus {
namespace {

using testing::expect_error;

TEST(Networks, HaveTheirParameterCounts) {
  const auto count = [](const char* name, int64_t classes) {
    return count_parameters(*build_network(find_network(name), {.classes = classes}, 1).module);
  };
  EXPECT_EQ(count("mlp", 10), 318410);
  EXPECT_EQ(count("mlp", 100), 327500);
  // 27*32 + 2*32 + 288*64 + 2*64 + 576*128 + 2*128 + 2049*128 + 129*C
  EXPECT_EQ(count("smallcnn", 10), 357034);
  EXPECT_EQ(count("smallcnn", 100), 368644);
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
      const Model model = build_network(info, {.channels = channels, .side = side, .classes = 7}, 1);
      EXPECT_EQ(model.forward(torch::randn({2, channels, side, side})).sizes(), (std::vector<int64_t>{2, 7}));
    }
  }
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

TEST(FindNetwork, SuggestsTheNearest) {
  expect_error([] { find_network("smalcnn"); }, {"unknown model", "smalcnn", "did you mean 'smallcnn'?"});
}

}  // namespace
}  // namespace batchplus
