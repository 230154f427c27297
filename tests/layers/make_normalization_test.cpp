#include "layers/make_normalization.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include "support/expect_error.h"

namespace batchplus {
namespace {

TEST(NormalizationKind, IsParsedAndChecked) {
  for (const std::string word : {"batch", "group", "none"})
    EXPECT_EQ(to_string(parse_normalization_kind(word, "here")), word);
  testing::expect_error([] { parse_normalization_kind("layer", "here"); },
                        {"here", "layer", "batch, group or none"});
}

TEST(MakeNormalization, MakesWhatIsAskedFor) {
  EXPECT_EQ(make_normalization(NormalizationKind::kBatch, 8)->describe(), "batch norm");
  EXPECT_EQ(make_normalization(NormalizationKind::kGroup, 8)->describe(), "group norm");
  EXPECT_EQ(make_normalization(NormalizationKind::kNone, 8)->describe(), "no normalisation");
}

TEST(NoNormalization, PassesItsInputOnAndLeavesItAlone) {
  const auto layer = make_normalization(NormalizationKind::kNone, 8);
  EXPECT_TRUE(layer->parameters().empty());
  torch::manual_seed(1);
  const torch::Tensor x = torch::randn({2, 8, 3, 3});
  const torch::Tensor shortcut = torch::randn({2, 8, 3, 3});
  const torch::Tensor before = x.clone();
  EXPECT_TRUE(layer->forward(x).equal(before));
  EXPECT_TRUE(layer->relu(x).equal(at::relu(before)));
  EXPECT_TRUE(layer->add_relu(x, shortcut).equal(at::relu(before + shortcut)));
  EXPECT_TRUE(x.equal(before));
}

}  // namespace
}  // namespace batchplus
