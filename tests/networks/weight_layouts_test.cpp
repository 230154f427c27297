// The weight file of every network against weight_layouts.json, which make_weight_layouts.py makes with
// PyTorch: what torch.load has read once, and the reference module taken, is what is written today.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "formats/archive.h"
#include "networks/registry.h"
#include "networks/weight_file.h"
#include "support/fixture.h"
#include "util/file.h"
#include "util/hash.h"

namespace batchplus {
namespace {

using nlohmann::json;

/// PyTorch's name.
std::string type_name(const torch::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case torch::kFloat32: return "float32";
    case torch::kInt64: return "int64";
    default: return torch::toString(tensor.scalar_type());
  }
}

class WeightLayout : public ::testing::TestWithParam<std::string> {
 protected:
  /// An empty object for a network that the fixture does not have, which then has no tensors in common.
  const json expected_ =
      json::parse(read_file(testing::fixture("weight_layouts.json"))).value(GetParam(), json::object());
  const StateDict state_ = state_dict(*build_network(find_network(GetParam()), {.classes = 10}, 1).module);
};

TEST_P(WeightLayout, HasPyTorchsNamesTypesAndShapesInPyTorchsOrder) {
  ASSERT_TRUE(expected_.contains("tensors")) << "make_weight_layouts.py does not know this network";
  json tensors = json::array();
  for (const auto& [name, tensor] : state_)
    tensors.push_back({name, type_name(tensor), tensor.sizes().vec()});
  ASSERT_EQ(tensors.size(), expected_["tensors"].size());
  for (size_t i = 0; i < tensors.size(); ++i) EXPECT_EQ(tensors[i], expected_["tensors"][i]);
}

TEST_P(WeightLayout, IsWrittenAsThePickleThatTorchLoadHasRead) {
  ASSERT_TRUE(expected_.contains("data.pkl")) << "make_weight_layouts.py does not know this network";
  const ArchiveFiles members = read_zip(encode_weights(state_), "encoded");
  EXPECT_EQ(sha256_hex(members.at("archive/data.pkl")), expected_["data.pkl"].get<std::string>());
  EXPECT_TRUE(members.contains("archive/version"));
  // libtorch 2 also writes the order of bytes and a digest of its own.
  const auto tensors = std::count_if(members.begin(), members.end(), [](const auto& member) {
    return member.first.starts_with("archive/data/");
  });
  ASSERT_EQ(tensors, static_cast<int64_t>(state_.size()));
  for (size_t i = 0; i < state_.size(); ++i) {
    const torch::Tensor values = state_[i].second.detach().contiguous();
    const std::string_view bytes(static_cast<const char*>(values.data_ptr()), values.nbytes());
    EXPECT_TRUE(members.at("archive/data/" + std::to_string(i)) == bytes) << state_[i].first;
  }
}

std::vector<std::string> every_network() {
  std::vector<std::string> names;
  for (const NetworkInfo& info : networks()) names.push_back(info.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Networks, WeightLayout, ::testing::ValuesIn(every_network()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace batchplus
