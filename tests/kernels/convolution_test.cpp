#include "kernels/convolution.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <tuple>

#include "kernels/processor.h"
#include "kernels/relative_error.h"
#include "kernels/tensors.h"
#include "support/machine.h"
#include "support/rounding.h"
#include "support/threads.h"

namespace batchplus::kernels {
namespace {

using testing::kRounding;
using testing::kWinogradMagnification;
using testing::running_sum_rounding;
using testing::spread_of;

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
/// tile, filters large enough to be shared out by points, and enough samples for all parts of a sum.
const std::vector<Case> kThreeByThree = {
    {4, 16, 16, 32, 32, kThree}, {3, 5, 7, 7, 9, kThree},     {1, 12, 20, 9, 4, kThree},
    {2, 8, 8, 1, 1, kThree},     {5, 24, 12, 8, 8, kThree},   {6, 64, 64, 8, 8, kThree},
    {3, 136, 128, 6, 5, kThree}, {7, 160, 130, 2, 2, kThree}, {1, 1, 1, 5, 5, kThree},
    {2, 512, 512, 2, 2, kThree}, {2, 256, 512, 4, 4, kThree}, {11, 16, 16, 9, 9, kThree},
    {9, 40, 24, 6, 6, kThree},   {37, 12, 20, 3, 5, kThree},
};

const std::vector<Case> kOther = {
    {3, 3, 16, 32, 32, kThree},     {2, 16, 32, 16, 16, {3, 2, 1}}, {1, 16, 32, 9, 7, {3, 2, 1}},
    {3, 3, 64, 32, 32, {11, 4, 5}}, {4, 16, 24, 4, 4, {5, 1, 2}},   {2, 40, 48, 8, 8, {1, 1, 0}},
    {3, 13, 7, 5, 6, {1, 1, 0}},    {2, 6, 5, 8, 8, {3, 1, 0}},     {2, 4, 4, 6, 6, {2, 2, 0}},
    {1, 1, 6, 28, 28, {5, 1, 2}},   {9, 3, 16, 12, 12, kThree},     {10, 16, 32, 8, 8, {3, 2, 1}},
    {9, 40, 48, 4, 4, {1, 1, 0}},   {11, 64, 192, 4, 4, {5, 1, 2}},
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

  Results in_double() const {
    constexpr auto type = at::kDouble;
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

/// The terms of the sums that a pass makes for a number of its result.
struct SumLengths {
  int64_t y, dx, dw, db;
};

void expect_rounding(const Results& ours, const Results& exact, const SumLengths& lengths,
                     const std::function<double(int64_t terms)>& rounding) {
  const auto expect = [&](const char* what, const at::Tensor& own, const at::Tensor& e, double allowed) {
    EXPECT_LE(relative_error(own, e), allowed * spread_of(e.numel())) << what;
  };
  expect("y", ours.y, exact.y, rounding(lengths.y));
  expect("dx", ours.dx, exact.dx, rounding(lengths.dx));
  expect("dw", ours.dw, exact.dw, rounding(lengths.dw));
  expect("db", ours.db, exact.db, running_sum_rounding(lengths.db));
}

/// One dimension of Winograd's F(tile, 3) at finite points and infinity, in double: y = A^T [(G w) . (B^T
/// d)]. Rows are points: powers of the point for `a`, powers over the product of its distances for `g`, and
/// for `b` the coefficients of the polynomial that is zero at all other points.
class WinogradInTheory {
 public:
  explicit WinogradInTheory(std::vector<double> points) : tile_(static_cast<int64_t>(points.size()) - 1) {
    for (const double point : points) {
      std::vector<double> polynomial = {1};
      double distances = 1;
      for (const double other : points) {
        if (other == point) continue;
        distances *= point - other;
        polynomial = times_root(polynomial, other);
      }
      a_.push_back(powers(point, tile_));
      g_.push_back(powers(point, 3));
      for (double& value : g_.back()) value /= distances;
      b_.push_back(polynomial);
    }
    std::vector<double> polynomial = {1};
    for (const double point : points) polynomial = times_root(polynomial, point);
    a_.emplace_back(tile_, 0.0).back() = 1;
    g_.push_back({0, 0, 1});
    b_.push_back(polynomial);
    for (auto& row : b_) row.resize(static_cast<size_t>(tile_) + 2);
  }

  /// By how much the transforms magnify a rounding between them: the root of the ratio of what the products
  /// add up to, if nothing cancelled, and of what the result is, for independent numbers of variance 1 on
  /// a line of `size` pixels padded by one. The same forwards and for both gradients, since all three sum
  /// over the same triples of input, tap and output.
  double magnification(int64_t size) const {
    const auto sum_squares = [](const std::vector<double>& row, int64_t begin, int64_t end) {
      double sum = 0;
      for (int64_t i = std::max<int64_t>(begin, 0);
           i < std::min<int64_t>(end, static_cast<int64_t>(row.size())); ++i)
        sum += row[static_cast<size_t>(i)] * row[static_cast<size_t>(i)];
      return sum;
    };
    double products = 0;
    for (int64_t first = 0; first < size; first += tile_) {
      for (size_t p = 0; p < a_.size(); ++p) {
        // Inputs of the tile begin one pixel before its outputs.
        products += sum_squares(a_[p], 0, size - first) * sum_squares(g_[p], 0, 3) *
                    sum_squares(b_[p], 1 - first, size - first + 1);
      }
    }
    const double pairs = 3 * static_cast<double>(size) - 2;  // of an output and a tap within the line
    return std::sqrt(products / pairs);
  }

  int64_t tiles(int64_t size) const { return (size + tile_ - 1) / tile_; }

 private:
  static std::vector<double> powers(double point, int64_t count) {
    std::vector<double> row = {1};
    while (static_cast<int64_t>(row.size()) < count) row.push_back(row.back() * point);
    return row;
  }
  static std::vector<double> times_root(const std::vector<double>& polynomial, double root) {
    std::vector<double> product(polynomial.size() + 1);
    for (size_t i = 0; i < polynomial.size(); ++i) {
      product[i] -= root * polynomial[i];
      product[i + 1] += polynomial[i];
    }
    return product;
  }

  int64_t tile_;
  std::vector<std::vector<double>> a_, g_, b_;
};

class ConvolutionKernels : public ::testing::Test {
  void SetUp() override { testing::machine_has("avx2", are_available()); }
};

// The patches' products are ordinary sums.
TEST_F(ConvolutionKernels, UnfoldedRoundsNoMoreThanRunningSums) {
  for (const auto* cases : {&kThreeByThree, &kOther}) {
    for (const Case& c : *cases) {
      SCOPED_TRACE(::testing::Message() << c);
      const Problem problem(c);
      const int64_t taps = c.geometry.kernel * c.geometry.kernel;
      const int64_t pixels = problem.g.numel() / c.out;
      // One more for the bias.
      const Results exact = problem.in_double();
      for (const int threads : {1, 2, 5}) {
        const testing::WithThreads with(threads);
        expect_rounding(problem.by_kernels(ConvolutionAlgorithm::kUnfolded), exact,
                        {c.in * taps + 1, c.out * taps, pixels, pixels}, running_sum_rounding);
      }
    }
  }
}

/// Transforms round too: a number passes through three of them, each in two dimensions with up to four
/// additions or multiplications by numbers other than one.
constexpr int64_t kTransformRoundings = 3 * 2 * 4;

void expect_winograd_rounding(ConvolutionAlgorithm algorithm, const WinogradInTheory& theory) {
  for (const Case& c : kThreeByThree) {
    SCOPED_TRACE(::testing::Message() << c);
    const Problem problem(c);
    const double magnification = theory.magnification(c.height) * theory.magnification(c.width);
    const int64_t tiles = c.samples * theory.tiles(c.height) * theory.tiles(c.width);
    const Results exact = problem.in_double();
    for (const int threads : {1, 2, 5}) {
      const testing::WithThreads with(threads);
      expect_rounding(problem.by_kernels(algorithm), exact,
                      {c.in, c.out, tiles, c.samples * c.height * c.width}, [&](int64_t terms) {
                        return magnification * std::hypot(running_sum_rounding(terms),
                                                          std::sqrt(kTransformRoundings) * kRounding);
                      });
    }
  }
}

TEST_F(ConvolutionKernels, WinogradsSmallTilesRoundAsTheirTransformsMagnify) {
  const WinogradInTheory theory({0, 1, -1});
  EXPECT_NEAR(std::pow(theory.magnification(1000), 2), 5.0 / 3, 0.01);
  expect_winograd_rounding(ConvolutionAlgorithm::kWinogradTwo, theory);
}

TEST_F(ConvolutionKernels, WinogradsLargeTilesRoundAsTheirTransformsMagnify) {
  const WinogradInTheory theory({0, 0.75, -0.75, 1.5, -1.5});
  EXPECT_NEAR(std::pow(theory.magnification(1000), 2), kWinogradMagnification, 0.01);
  expect_winograd_rounding(ConvolutionAlgorithm::kWinogradFour, theory);
}

TEST_F(ConvolutionKernels, GiveTheSameBitsForAnyNumberOfThreads) {
  for (const auto algorithm : {ConvolutionAlgorithm::kUnfolded, ConvolutionAlgorithm::kWinogradTwo,
                               ConvolutionAlgorithm::kWinogradFour}) {
    for (const Case& c : kThreeByThree) {
      const Problem problem(c);
      const Results first = problem.by_kernels(algorithm);
      for (const int threads : {1, 2, 3, 4, 8, 16}) {
        const testing::WithThreads with(threads);
        const Results second = problem.by_kernels(algorithm);
        EXPECT_TRUE(first.y.equal(second.y)) << c;
        EXPECT_TRUE(first.dx.equal(second.dx)) << c;
        EXPECT_TRUE(first.dw.equal(second.dw)) << c;
        EXPECT_TRUE(first.db.equal(second.db)) << c;
      }
    }
  }
}

// The same maps as some channels of wider ones, filters in planes, and max(0, scale x + shift) on the way in.
TEST_F(ConvolutionKernels, ReadAndWriteSomeChannelsOfWiderMaps) {
  for (const auto algorithm : {ConvolutionAlgorithm::kUnfolded, ConvolutionAlgorithm::kWinogradTwo,
                               ConvolutionAlgorithm::kWinogradFour}) {
    for (const Case& c : {Case{3, 12, 12, 8, 9, kThree}, Case{2, 24, 20, 5, 5, kThree}}) {
      SCOPED_TRACE(::testing::Message() << c);
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
      const Results exact = plain.in_double();
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

TEST_F(ConvolutionKernels, ComputeTheInputsGradientAlone) {
  for (const auto algorithm : {ConvolutionAlgorithm::kUnfolded, ConvolutionAlgorithm::kWinogradTwo,
                               ConvolutionAlgorithm::kWinogradFour}) {
    for (const Case& c : kThreeByThree) {
      const Problem problem(c);
      for (const int threads : {1, 2, 3}) {
        const testing::WithThreads with(threads);
        const at::Tensor dx = at::full_like(problem.x, NAN);
        convolution_backward(algorithm, c.geometry, {.maps = maps_of(problem.x)}, filters_of(problem.w),
                             maps_of(problem.g), {maps_of(dx), {}, nullptr});
        EXPECT_TRUE(dx.equal(problem.by_kernels(algorithm).dx)) << c;
      }
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
}  // namespace batchplus::kernels
