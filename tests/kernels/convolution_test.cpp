#include "kernels/convolution.h"

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "kernels/maps_of_tensors.h"
#include "kernels/processor.h"

namespace batchplus {
namespace {

struct Case {
  int64_t samples, in, out, height, width;
  ConvolutionGeometry geometry;
};

std::ostream& operator<<(std::ostream& stream, const Case& c) {
  return stream << c.samples << " samples, " << c.in << " to " << c.out << ", " << c.height << "x" << c.width
                << ", kernel " << c.geometry.kernel << "/" << c.geometry.stride << " padding "
                << c.geometry.padding;
}

constexpr ConvolutionGeometry kThree{3, 1, 1};

/// Winograd's shapes: whole and partial tiles, channels that fill no vector, one sample, maps smaller than a
/// tile, and filters large enough to be shared out by points.
const std::vector<Case> kThreeByThree = {
    {4, 16, 16, 32, 32, kThree}, {3, 5, 7, 7, 9, kThree},     {1, 12, 20, 9, 4, kThree},
    {2, 8, 8, 1, 1, kThree},     {5, 24, 12, 8, 8, kThree},   {6, 64, 64, 8, 8, kThree},
    {3, 136, 128, 6, 5, kThree}, {7, 160, 130, 2, 2, kThree}, {1, 1, 1, 5, 5, kThree},
};

const std::vector<Case> kOther = {
    {3, 3, 16, 32, 32, kThree},     {2, 16, 32, 16, 16, {3, 2, 1}}, {1, 16, 32, 9, 7, {3, 2, 1}},
    {3, 3, 64, 32, 32, {11, 4, 5}}, {4, 16, 24, 4, 4, {5, 1, 2}},   {2, 40, 48, 8, 8, {1, 1, 0}},
    {3, 13, 7, 5, 6, {1, 1, 0}},    {2, 6, 5, 8, 8, {3, 1, 0}},     {2, 4, 4, 6, 6, {2, 2, 0}},
    {1, 1, 6, 28, 28, {5, 1, 2}},
};

/// Everything that a convolution computes, forwards and backwards.
struct Results {
  at::Tensor y, dx, dw, db;
};

struct Problem {
  explicit Problem(const Case& c) : geometry(c.geometry) {
    at::manual_seed(c.samples + 100 * c.in + 10000 * c.out);
    const auto type = at::TensorOptions().dtype(at::kFloat);
    const double scale = std::sqrt(2.0 / static_cast<double>(c.in * geometry.kernel * geometry.kernel));
    x = at::randn({c.samples, c.in, c.height, c.width}, type).relu_().contiguous(kChannelsLast);
    w = (at::randn({c.out, c.in, geometry.kernel, geometry.kernel}, type) * scale).contiguous(kChannelsLast);
    bias = at::randn({c.out}, type);
    g = at::randn_like(at::conv2d(x, w, bias, geometry.stride, geometry.padding)).contiguous(kChannelsLast);
  }

  Results by_aten(at::ScalarType type) const {
    const at::Tensor a = x.to(type);
    const at::Tensor b = w.to(type);
    Results r;
    r.y = at::conv2d(a, b, bias.to(type), geometry.stride, geometry.padding);
    std::tie(r.dx, r.dw, r.db) = at::convolution_backward(
        g.to(type), a, b, at::IntArrayRef{w.size(0)}, {geometry.stride, geometry.stride},
        {geometry.padding, geometry.padding}, {1, 1}, false, {0, 0}, 1, {true, true, true});
    return r;
  }

  Results by_kernels(ConvolutionAlgorithm algorithm) const {
    Results r{at::full_like(g, NAN), at::full_like(x, NAN), at::full_like(w, NAN), at::full_like(bias, NAN)};
    const ConvolutionInput input{.maps = maps_of(x)};
    convolution_forward(algorithm, geometry, input, filters_of(w), bias.data_ptr<float>(), maps_of(r.y));
    convolution_backward(algorithm, geometry, input, filters_of(w), maps_of(g),
                         {maps_of(r.dx), filters_of(r.dw), r.db.data_ptr<float>()});
    return r;
  }

  ConvolutionGeometry geometry;
  at::Tensor x, w, bias, g;
};

/// Errors against double are at most `factor` times libtorch's (which sum few numbers exactly, hence the
/// floor).
void expect_accurate(const Results& ours, const Results& atens, const Results& exact, double factor) {
  constexpr double kFloor = 2.5e-7;
  const auto expect = [&](const char* what, const at::Tensor& own, const at::Tensor& aten,
                          const at::Tensor& e) {
    EXPECT_LE(relative_error(own, e), factor * std::max(kFloor, relative_error(aten, e))) << what;
  };
  expect("y", ours.y, atens.y, exact.y);
  expect("dx", ours.dx, atens.dx, exact.dx);
  expect("dw", ours.dw, atens.dw, exact.dw);
  expect("db", ours.db, atens.db, exact.db);
}

class ConvolutionKernels : public testing::Test {
  void SetUp() override {
    if (!has_own_kernels()) GTEST_SKIP() << "the processor has no AVX2";
  }
};

// The patches' products are ordinary sums: no less accurate than libtorch.
TEST_F(ConvolutionKernels, UnfoldedIsAsAccurateAsLibtorch) {
  for (const auto* cases : {&kThreeByThree, &kOther}) {
    for (const Case& c : *cases) {
      SCOPED_TRACE(testing::Message() << c);
      const Problem problem(c);
      expect_accurate(problem.by_kernels(ConvolutionAlgorithm::kUnfolded), problem.by_aten(at::kFloat),
                      problem.by_aten(at::kDouble), 1);
    }
  }
}

TEST_F(ConvolutionKernels, WinogradsSmallTilesAreNearLibtorchsAccuracy) {
  for (const Case& c : kThreeByThree) {
    SCOPED_TRACE(testing::Message() << c);
    const Problem problem(c);
    expect_accurate(problem.by_kernels(ConvolutionAlgorithm::kWinogradTwo), problem.by_aten(at::kFloat),
                    problem.by_aten(at::kDouble), 2);
  }
}

// Transforms of 4x4 outputs multiply by numbers other than one: docs/performance.md has the errors.
TEST_F(ConvolutionKernels, WinogradsLargeTilesAreNearLibtorchsAccuracy) {
  for (const Case& c : kThreeByThree) {
    SCOPED_TRACE(testing::Message() << c);
    const Problem problem(c);
    expect_accurate(problem.by_kernels(ConvolutionAlgorithm::kWinogradFour), problem.by_aten(at::kFloat),
                    problem.by_aten(at::kDouble), 5);
  }
}

TEST_F(ConvolutionKernels, GiveTheSameBitsAgain) {
  for (const auto algorithm : {ConvolutionAlgorithm::kUnfolded, ConvolutionAlgorithm::kWinogradTwo,
                               ConvolutionAlgorithm::kWinogradFour}) {
    for (const Case& c : kThreeByThree) {
      const Problem problem(c);
      const Results first = problem.by_kernels(algorithm);
      const Results second = problem.by_kernels(algorithm);
      EXPECT_TRUE(first.y.equal(second.y)) << c;
      EXPECT_TRUE(first.dx.equal(second.dx)) << c;
      EXPECT_TRUE(first.dw.equal(second.dw)) << c;
      EXPECT_TRUE(first.db.equal(second.db)) << c;
    }
  }
}

// The same maps as some channels of wider ones, filters in planes, and max(0, scale x + shift) on the way in.
TEST_F(ConvolutionKernels, ReadAndWriteSomeChannelsOfWiderMaps) {
  for (const auto algorithm : {ConvolutionAlgorithm::kUnfolded, ConvolutionAlgorithm::kWinogradTwo,
                               ConvolutionAlgorithm::kWinogradFour}) {
    for (const Case& c : {Case{3, 12, 12, 8, 9, kThree}, Case{2, 24, 20, 5, 5, kThree}}) {
      SCOPED_TRACE(testing::Message() << c);
      const Problem problem(c);
      const at::Tensor scale = at::randn({c.in});
      const at::Tensor shift = at::randn({c.in});
      constexpr int64_t kMore = 9;
      const auto widen = [&](const at::Tensor& t) {
        return at::cat({t, at::full({t.size(0), kMore, t.size(2), t.size(3)}, 7.0)}, 1)
            .contiguous(kChannelsLast);
      };
      const auto narrow = [](const at::Tensor& wide, int64_t channels) {
        Maps maps = maps_of(wide);
        maps.channels = channels;
        return maps;
      };
      const at::Tensor x = widen(problem.x);
      const at::Tensor g = widen(problem.g);
      const at::Tensor y = at::full_like(g, 5);
      const at::Tensor dx = at::full_like(x, 5);
      const at::Tensor w = problem.w.contiguous();
      const at::Tensor dw = at::empty_like(w);
      const ConvolutionInput input{narrow(x, c.in), scale.data_ptr<float>(), shift.data_ptr<float>()};
      convolution_forward(algorithm, c.geometry, input, filters_of(w), nullptr, narrow(y, c.out));
      convolution_backward(algorithm, c.geometry, input, filters_of(w), narrow(g, c.out),
                           {narrow(dx, c.in), filters_of(dw), nullptr});

      Problem plain = problem;
      plain.x = at::relu(problem.x * scale.view({1, -1, 1, 1}) + shift.view({1, -1, 1, 1}));
      plain.bias = at::zeros_like(problem.bias);
      const Results exact = plain.by_aten(at::kDouble);
      EXPECT_LT(relative_error(y.slice(1, 0, c.out), exact.y), 2e-6);
      EXPECT_LT(relative_error(dx.slice(1, 0, c.in), exact.dx), 2e-6);
      EXPECT_LT(relative_error(dw, exact.dw), 2e-6);
      // The other channels stay as they are.
      EXPECT_TRUE(y.slice(1, c.out).eq(5).all().item<bool>());
      EXPECT_TRUE(dx.slice(1, c.in).eq(5).all().item<bool>());
    }
  }
}

TEST_F(ConvolutionKernels, ComputeTheFiltersGradientAlone) {
  for (const auto algorithm : {ConvolutionAlgorithm::kUnfolded, ConvolutionAlgorithm::kWinogradFour}) {
    for (const Case& c : kThreeByThree) {
      const Problem problem(c);
      const at::Tensor dw = at::empty_like(problem.w);
      convolution_backward(algorithm, c.geometry, {.maps = maps_of(problem.x)}, filters_of(problem.w),
                           maps_of(problem.g), {{}, filters_of(dw), nullptr});
      EXPECT_TRUE(dw.equal(problem.by_kernels(algorithm).dw)) << c;
    }
  }
}

TEST(ChooseAlgorithm, TakesWinogradWhereItMayAndCan) {
  EXPECT_EQ(choose_algorithm(kThree, 16, 32, 32, true), ConvolutionAlgorithm::kWinogradFour);
  EXPECT_EQ(choose_algorithm(kThree, 512, 2, 2, true), ConvolutionAlgorithm::kWinogradTwo);
  EXPECT_EQ(choose_algorithm(kThree, 16, 32, 32, false), ConvolutionAlgorithm::kUnfolded);
  EXPECT_EQ(choose_algorithm(kThree, 3, 32, 32, true), ConvolutionAlgorithm::kUnfolded);
  EXPECT_EQ(choose_algorithm({3, 2, 1}, 16, 32, 32, true), ConvolutionAlgorithm::kUnfolded);
}

}  // namespace
}  // namespace batchplus
