// The convolutions of the networks, each by libtorch and by this project's algorithms, in turn in one run:
// times forwards and backwards, and errors against double precision.
//   convolutions THREADS [ROUNDS]
// An error is the root mean square of the difference over that of the exact result.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "core/memory.h"
#include "core/torch.h"
#include "kernels/convolution.h"
#include "kernels/processor.h"
#include "kernels/tensors.h"
#include "util/clock.h"

namespace batchplus::kernels {
namespace {

struct Shape {
  int64_t samples, in, out, side;
  ConvolutionGeometry geometry;
};

constexpr ConvolutionGeometry kThree{3, 1, 1};
const std::vector<Shape> kShapes = {
    {128, 16, 16, 32, kThree},    {128, 32, 32, 16, kThree},    {128, 64, 64, 8, kThree},
    {128, 64, 128, 16, kThree},   {128, 128, 256, 8, kThree},   {128, 256, 256, 8, kThree},
    {128, 256, 512, 4, kThree},   {128, 512, 512, 4, kThree},   {128, 512, 512, 2, kThree},
    {64, 96, 12, 32, kThree},     {64, 300, 12, 16, kThree},    {64, 444, 12, 8, kThree},
    {64, 48, 12, 32, kThree},     {128, 3, 16, 32, kThree},     {128, 3, 64, 32, kThree},
    {128, 16, 32, 32, {3, 2, 1}}, {128, 64, 192, 4, {5, 1, 2}}, {128, 3, 64, 32, {11, 4, 5}},
    {64, 192, 48, 16, {1, 1, 0}},
};

struct Results {
  at::Tensor y, dx, dw, db;
};

struct Problem {
  explicit Problem(const Shape& shape) : geometry(shape.geometry) {
    torch::manual_seed(1);
    const int64_t kernel = geometry.kernel;
    const double scale = std::sqrt(2.0 / static_cast<double>(shape.in * kernel * kernel));
    x = torch::randn({shape.samples, shape.in, shape.side, shape.side}).relu_().contiguous(kChannelsLast);
    w = (torch::randn({shape.out, shape.in, kernel, kernel}) * scale).contiguous(kChannelsLast);
    bias = torch::randn({shape.out});
    g = torch::randn_like(at::conv2d(x, w, bias, geometry.stride, geometry.padding))
            .contiguous(kChannelsLast);
  }

  at::Tensor aten_forward(at::ScalarType type) const {
    return at::conv2d(x.to(type), w.to(type), bias.to(type), geometry.stride, geometry.padding);
  }
  void aten_backward(at::ScalarType type, Results& r) const {
    std::tie(r.dx, r.dw, r.db) = at::convolution_backward(
        g.to(type), x.to(type), w.to(type), at::IntArrayRef{w.size(0)}, {geometry.stride, geometry.stride},
        {geometry.padding, geometry.padding}, {1, 1}, false, {0, 0}, 1, {x.size(1) > 3, true, true});
  }

  ConvolutionGeometry geometry;
  at::Tensor x, w, bias, g;
};

double error(const at::Tensor& value, const at::Tensor& exact) {
  if (!value.defined()) return 0;
  const at::Tensor difference = value.to(at::kDouble) - exact;
  return (difference.square().mean().sqrt() / exact.square().mean().sqrt()).item<double>();
}

/// A way to compute a convolution: its passes, its results, its times.
struct Way {
  std::string name;
  std::function<void()> forward = {};
  std::function<void()> backward = {};
  Results results = {};
  std::vector<double> forward_seconds = {};
  std::vector<double> backward_seconds = {};
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::string text_of(const Shape& s) {
  return fmt::format("{}x{} to {}, {}x{}, {}x{}/{}", s.samples, s.in, s.out, s.side, s.side,
                     s.geometry.kernel, s.geometry.kernel, s.geometry.stride);
}

void compare(const Shape& shape, int rounds) {
  const Problem problem(shape);
  std::vector<Way> ways;
  ways.reserve(4);
  ways.push_back({.name = "libtorch"});
  Way& aten = ways.back();
  aten.forward = [&] { aten.results.y = problem.aten_forward(at::kFloat); };
  aten.backward = [&] { problem.aten_backward(at::kFloat, aten.results); };
  const bool is_winograd = choose_algorithm(shape.geometry, shape.in, shape.side, shape.side, true) !=
                           ConvolutionAlgorithm::kUnfolded;
  const auto add = [&](const std::string& name, ConvolutionAlgorithm algorithm) {
    ways.push_back({.name = name});
    Way& way = ways.back();
    Results& r = way.results;
    const bool has_dx = shape.in > 3;  // images need no gradient
    r = {at::empty_like(problem.g), has_dx ? at::empty_like(problem.x) : at::Tensor(),
         at::empty_like(problem.w), at::empty_like(problem.bias)};
    const ConvolutionInput input{.maps = maps_of(problem.x)};
    way.forward = [&problem, &r, algorithm, input] {
      convolution_forward(algorithm, problem.geometry, input, filters_of(problem.w), data_of(problem.bias),
                          maps_of(r.y));
    };
    way.backward = [&problem, &r, algorithm, input, has_dx] {
      convolution_backward(algorithm, problem.geometry, input, filters_of(problem.w), maps_of(problem.g),
                           {has_dx ? maps_of(r.dx) : Maps{}, filters_of(r.dw), data_of(r.db)});
    };
  };
  add("patches", ConvolutionAlgorithm::kUnfolded);
  if (is_winograd) {
    add("F(2x2)", ConvolutionAlgorithm::kWinogradTwo);
    add("F(4x4)", ConvolutionAlgorithm::kWinogradFour);
  }
  for (int round = -1; round < rounds; ++round) {
    for (Way& way : ways) {
      const Stopwatch forward;
      way.forward();
      const double forward_seconds = forward.seconds();
      const Stopwatch backward;
      way.backward();
      if (round < 0) continue;
      way.forward_seconds.push_back(forward_seconds);
      way.backward_seconds.push_back(backward.seconds());
    }
  }
  Results exact;
  exact.y = problem.aten_forward(at::kDouble);
  problem.aten_backward(at::kDouble, exact);
  const auto row = [&](const Way& way) {
    fmt::print("| {} | {} | {:.2f} | {:.2f} | {:.1e} | {} | {:.1e} |\n", text_of(shape), way.name,
               1e3 * median(way.forward_seconds), 1e3 * median(way.backward_seconds),
               error(way.results.y, exact.y),
               shape.in > 3 ? fmt::format("{:.1e}", error(way.results.dx, exact.dx)) : "",
               error(way.results.dw, exact.dw));
  };
  for (const Way& way : ways) row(way);
  std::fflush(stdout);
}

}  // namespace
}  // namespace batchplus::kernels

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: convolutions THREADS [ROUNDS]\n");
    return 2;
  }
  if (!batchplus::kernels::are_available()) {
    std::fprintf(stderr, "this processor has no AVX2\n");
    return 2;
  }
  batchplus::keep_freed_memory();
  at::set_num_threads(std::atoi(argv[1]));
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 7;
  fmt::print(
      "| convolution | by | forward ms | backward ms | error of y | of x's gradient | of w's gradient |\n");
  fmt::print("| --- | --- | --- | --- | --- | --- | --- |\n");
  for (const auto& shape : batchplus::kernels::kShapes) batchplus::kernels::compare(shape, rounds);
}
