#include "kernels/sample_gradients.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "kernels/processor.h"
#include "kernels/tensors.h"
#include "support/machine.h"
#include "support/threads.h"

namespace batchplus::kernels {
namespace {

struct Layer {
  int64_t in, out, side, kernel, stride, padding;
};

// Every layer kind of the paper's networks, and odd ones: one channel, one pixel, columns that fill no
// vector, a kernel larger than the map, strides that leave pixels over.
const std::vector<Layer> kLayers = {
    {3, 64, 32, 3, 1, 1},  {16, 16, 32, 3, 1, 1}, {16, 32, 32, 3, 2, 1}, {64, 64, 8, 3, 1, 1},
    {88, 12, 16, 3, 1, 1}, {40, 48, 8, 1, 1, 0},  {64, 192, 8, 5, 1, 2}, {3, 64, 32, 11, 4, 5},
    {32, 40, 4, 3, 1, 1},  {24, 16, 2, 3, 1, 1},  {5, 7, 9, 3, 2, 0},    {1, 1, 1, 1, 1, 0},
    {1, 3, 5, 3, 1, 1},    {9, 13, 1, 3, 1, 1},   {2, 5, 6, 5, 3, 2},    {17, 25, 7, 2, 2, 1},
};

struct Case {
  explicit Case(const Layer& l, int64_t samples) {
    torch::manual_seed(1);
    x = torch::randn({samples, l.in, l.side, l.side}).contiguous(at::MemoryFormat::ChannelsLast);
    const torch::Tensor w = torch::zeros({l.out, l.in, l.kernel, l.kernel}, torch::kFloat64);
    const torch::Tensor y = at::conv2d(x.to(torch::kFloat64), w, {}, l.stride, l.padding);
    g = torch::randn(y.sizes()).contiguous(at::MemoryFormat::ChannelsLast);
    shape = {l.in, l.out, l.kernel, l.stride, l.padding, l.side, l.side, y.size(2), y.size(3)};
    for (int64_t i = 0; i < samples; ++i) {
      const auto one = [i](const torch::Tensor& t) { return t.slice(0, i, i + 1).to(torch::kFloat64); };
      gradients.push_back(std::get<1>(
          at::convolution_backward(one(g), one(x), w, c10::nullopt, {l.stride, l.stride},
                                   {l.padding, l.padding}, {1, 1}, false, {0, 0}, 1, {false, true, false})));
    }
  }
  ConvolutionBatch batch() const { return {x.size(0), x.data_ptr<float>(), g.data_ptr<float>()}; }
  /// In double, sample by sample.
  double squared_norm(size_t i) const { return gradients[i].square().sum().item<double>(); }

  torch::Tensor x, g;
  ConvolutionShape shape;
  std::vector<torch::Tensor> gradients;
};

// Sums of at most 1024 products, rounded to single precision, and their squares.
constexpr double kTolerance = 2e-5;

TEST(SampleGradientKernels, FormingGivesTheNormsAndTheSumOfTheSampleGradients) {
  if (!testing::machine_has("avx2", are_available())) return;
  for (const Layer& layer : kLayers) {
    const Case c(layer, 5);
    const torch::Tensor sum = torch::full({layer.out, layer.kernel, layer.kernel, layer.in}, 9.0);
    std::vector<double> norms(5);
    form_sample_gradients(c.shape, c.batch(), sum.data_ptr<float>(), norms.data());
    torch::Tensor exact = torch::zeros_like(c.gradients[0]);
    for (size_t i = 0; i < norms.size(); ++i) {
      EXPECT_NEAR(norms[i], c.squared_norm(i), kTolerance * c.squared_norm(i))
          << layer.in << "->" << layer.out;
      exact += c.gradients[i];
    }
    const double error = (sum.permute({0, 3, 1, 2}) - exact).norm().item<double>();
    EXPECT_LT(error, kTolerance * exact.norm().item<double>()) << layer.in << "->" << layer.out;
  }
}

TEST(SampleGradientKernels, WinogradsTransformsGiveTheSameNormsAndSum) {
  if (!testing::machine_has("avx2", are_available())) return;
  int cases = 0;
  for (const Layer& layer : kLayers) {
    if (layer.kernel != 3 || layer.stride != 1 || layer.padding != 1) continue;
    ++cases;
    const Case c(layer, 5);
    const torch::Tensor sum = torch::full({layer.out, layer.in, 3, 3}, 9.0);
    std::vector<double> norms(5);
    winograd_sample_gradients(maps_of(c.x), maps_of(c.g), filters_of(sum), norms.data());
    torch::Tensor exact = torch::zeros_like(c.gradients[0]);
    for (size_t i = 0; i < norms.size(); ++i) {
      EXPECT_NEAR(norms[i], c.squared_norm(i), kTolerance * c.squared_norm(i))
          << layer.in << "->" << layer.out;
      exact += c.gradients[i];
    }
    EXPECT_LT((sum - exact).norm().item<double>(), kTolerance * exact.norm().item<double>())
        << layer.in << "->" << layer.out;
  }
  EXPECT_GE(cases, 8);
}

TEST(SampleGradientKernels, HaveTheSameBitsForAnyNumberOfThreads) {
  if (!testing::machine_has("avx2", are_available())) return;
  const Case c({16, 24, 8, 3, 1, 1}, 9);
  const auto results = [&](int threads) {
    const testing::WithThreads with(threads);
    const torch::Tensor formed = torch::empty({24, 3, 3, 16});
    const torch::Tensor transformed = torch::empty({24, 16, 3, 3});
    const torch::Tensor norms = torch::empty({3, 9}, torch::kFloat64);
    const auto row = [&](int64_t i) { return norms[i].data_ptr<double>(); };
    form_sample_gradients(c.shape, c.batch(), formed.data_ptr<float>(), row(0));
    winograd_sample_gradients(maps_of(c.x), maps_of(c.g), filters_of(transformed), row(1));
    gram_squared_norms(c.shape, c.batch(), row(2));
    return at::cat({formed.flatten(), transformed.flatten(), norms.flatten()});
  };
  const torch::Tensor one = results(1);
  for (const int threads : {2, 3, 5}) EXPECT_TRUE(results(threads).equal(one)) << threads << " threads";
}

TEST(SampleGradientKernels, GramMatricesGiveTheSameNorms) {
  if (!testing::machine_has("avx2", are_available())) return;
  for (const Layer& layer : kLayers) {
    if (layer.side > 16) continue;
    const Case c(layer, 5);
    std::vector<double> norms(5);
    gram_squared_norms(c.shape, c.batch(), norms.data());
    for (size_t i = 0; i < norms.size(); ++i) {
      EXPECT_NEAR(norms[i], c.squared_norm(i), kTolerance * c.squared_norm(i))
          << layer.in << "->" << layer.out;
    }
  }
}

TEST(SampleGradientKernels, MoreThreadsThanSamplesLeaveTheSumWhole) {
  if (!testing::machine_has("avx2", are_available())) return;
  const int before = at::get_num_threads();
  at::set_num_threads(4);
  const Case c({16, 16, 8, 3, 1, 1}, 1);
  const torch::Tensor sum = torch::empty({16, 3, 3, 16});
  double norm = 0;
  form_sample_gradients(c.shape, c.batch(), sum.data_ptr<float>(), &norm);
  at::set_num_threads(before);
  EXPECT_NEAR(norm, c.squared_norm(0), kTolerance * norm);
  EXPECT_LT((sum.permute({0, 3, 1, 2}) - c.gradients[0]).norm().item<double>(), kTolerance * std::sqrt(norm));
}

}  // namespace
}  // namespace batchplus::kernels
