// Real samples of CIFAR-100 and SVHN against statistics that tests/fixtures/make_images.py computed with
// numpy and scipy. The samples are not part of the project: $BATCHPLUS_SAMPLES names the folder that holds
// them.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "data/load_dataset.h"
#include "support/fixture.h"
#include "support/machine.h"
#include "util/file.h"
#include "util/hash.h"

namespace batchplus {
namespace {

namespace fs = std::filesystem;

std::string sha256_of(const torch::Tensor& tensor) {
  return sha256_hex({static_cast<const char*>(tensor.data_ptr()), tensor.nbytes()});
}

void expect_statistics(const ImageSet& set, const nlohmann::json& expected, int64_t classes) {
  EXPECT_EQ(set.size(), expected["samples"]);
  EXPECT_EQ(sha256_of(set.images), expected["pixels_sha256"].get<std::string>());
  EXPECT_EQ(sha256_of(set.labels), expected["labels_sha256"].get<std::string>());
  const torch::Tensor counts = at::bincount(set.labels, {}, classes);
  for (int64_t c = 0; c < classes; ++c) EXPECT_EQ(counts[c].item<int64_t>(), expected["classes"][c]) << c;
  const Normalization measured = measure_normalization(set);
  for (size_t c = 0; c < 3; ++c) {
    EXPECT_NEAR(measured.mean[c], expected["mean"][c], 1e-9);  // double sums of 5 million pixels
    EXPECT_NEAR(measured.std[c], expected["std"][c], 1e-9);
  }
}

TEST(RealSamples, HaveTheStatisticsOfAnIndependentReader) {
  const fs::path folder = testing::samples_folder();
  if (!testing::machine_has("samples", !folder.empty())) return;
  const auto expected = nlohmann::json::parse(read_file(testing::fixture("sample_statistics.json")));
  for (const auto& [name, splits] : expected.items()) {
    const Dataset dataset = load_dataset(find_dataset(name), folder);
    expect_statistics(dataset.train, splits["train"], dataset.classes());
    expect_statistics(dataset.test, splits["test"], dataset.classes());
  }
}

}  // namespace
}  // namespace batchplus
