#include "kernels/convolution.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "kernels/batch_norm.h"
#include "kernels/image_convolution.h"
#include "kernels/sample_share.h"
#include "kernels/trace.h"
#include "kernels/unfolded_convolution.h"
#include "kernels/winograd.h"
#include "util/error.h"

namespace batchplus::kernels {
namespace {

WinogradTile tile_of(ConvolutionAlgorithm algorithm) {
  return algorithm == ConvolutionAlgorithm::kWinogradTwo ? WinogradTile::kTwo : WinogradTile::kFour;
}

const char* name_of(ConvolutionAlgorithm algorithm) {
  switch (algorithm) {
    case ConvolutionAlgorithm::kUnfolded: return "unfolded";
    case ConvolutionAlgorithm::kWinogradTwo: return "F(2x2)";
    case ConvolutionAlgorithm::kWinogradFour: return "F(4x4)";
  }
  return "";
}

/// Multiplications of direct convolution that one of the algorithm stands for.
double gain_of(ConvolutionAlgorithm algorithm) {
  switch (algorithm) {
    case ConvolutionAlgorithm::kUnfolded: return 1;
    case ConvolutionAlgorithm::kWinogradTwo: return 36.0 / 16;
    case ConvolutionAlgorithm::kWinogradFour: return 144.0 / 36;
  }
  return 1;
}

/// Of one convolution, or of the two that compute both gradients. Each has maps as large as x, and filters.
KernelWork work_of(ConvolutionAlgorithm algorithm, const ConvolutionGeometry& geometry, const ConstMaps& x,
                   const ConstFilters& w, const ConstMaps& y, int convolutions, const char* direction) {
  const auto macs = static_cast<double>(y.all_pixels() * w.values());
  return {fmt::format("convolution {} to {}, {}x{}, kernel {}/{}, {}, {}", w.in, w.out, x.height, x.width,
                      geometry.kernel, geometry.stride, name_of(algorithm), direction),
          2 * macs * convolutions / gain_of(algorithm),
          static_cast<double>(y.values() + convolutions * (x.values() + w.values()))};
}

int64_t filter_parts(ConvolutionAlgorithm algorithm, int64_t samples, const ConstFilters& w) {
  return algorithm == ConvolutionAlgorithm::kUnfolded ? unfolded_filter_parts(samples, w)
                                                      : winograd_filter_parts(tile_of(algorithm), samples, w);
}

void run_backward(ConvolutionAlgorithm algorithm, const ConvolutionGeometry& geometry,
                  const ConvolutionInput& x, const ConstFilters& w, const ConstMaps& y_gradient,
                  const ConvolutionGradients& gradients) {
  const bool is_unfolded = algorithm == ConvolutionAlgorithm::kUnfolded;
  const bool is_for_filters = gradients.input.data == nullptr && gradients.filters.data != nullptr;
  if (is_unfolded && is_for_filters && takes_images(geometry, x)) {
    image_filters_gradient(geometry, x, y_gradient, gradients.filters);
    if (gradients.bias != nullptr) channel_sums(y_gradient, gradients.bias);
  } else if (is_unfolded) {
    unfolded_backward(geometry, x, w, y_gradient, gradients);
  } else {
    winograd_backward(tile_of(algorithm), x, w, y_gradient, gradients);
  }
}

/// The maps of all samples of the batch, in memory of their own.
ConstMaps gather_maps(SampleShare& share, const ConstMaps& own, std::vector<float>& memory) {
  const int64_t sample_floats = own.pixels() * own.channels;
  memory.resize(static_cast<size_t>(share.whole() * sample_floats));
  float* to = memory.data() + share.begin(share.whole()) * sample_floats;
  for (int64_t i = 0; i < own.all_pixels(); ++i)
    std::copy_n(own.data + i * own.stride, own.channels, to + i * own.channels);
  share.gather(memory.data(), share.whole(), sample_floats * static_cast<int64_t>(sizeof(float)));
  return {memory.data(), share.whole(), own.height, own.width, own.channels, own.channels};
}

/// The gradient of filters that are summed sample by sample: no rank's sum is part of it. Each rank sums some
/// of the filters over all samples instead.
void filters_in_order(SampleShare& share, ConvolutionAlgorithm algorithm, const ConvolutionGeometry& geometry,
                      const ConvolutionInput& x, const ConstFilters& w, const ConstMaps& y_gradient,
                      const Filters& gradient) {
  BATCHPLUS_CHECK(gradient.out_stride == gradient.in * gradient.kernel * gradient.kernel,
                  "filters lie one behind the other");
  std::vector<float> x_memory;
  std::vector<float> g_memory;
  const ConvolutionInput all_x{gather_maps(share, x.maps, x_memory), x.scale, x.shift};
  ConstMaps g = gather_maps(share, y_gradient, g_memory);
  const int64_t first = share.begin(w.out);
  const int64_t count = share.end(w.out) - first;
  if (count > 0) {
    g.data += first;
    g.channels = count;
    ConstFilters some = w;
    some.data += first * w.out_stride;
    some.out = count;
    Filters some_gradients = gradient;
    some_gradients.data += first * gradient.out_stride;
    some_gradients.out = count;
    const SampleShare::Scope by_itself(nullptr);
    run_backward(algorithm, geometry, all_x, some, g,
                 {.input = {}, .filters = some_gradients, .bias = nullptr, .filter_parts = 1});
  }
  share.gather(gradient.data, gradient.out, gradient.out_stride * static_cast<int64_t>(sizeof(float)));
}

}  // namespace

ConvolutionAlgorithm choose_algorithm(const ConvolutionGeometry& geometry, int64_t in, int64_t height,
                                      int64_t width, bool may_use_winograd) {
  const bool fits = geometry.kernel == 3 && geometry.stride == 1 && geometry.padding == 1;
  // With few input channels the products are too small to pay for the transforms.
  constexpr int64_t kLeastChannels = 8;
  if (!may_use_winograd || !fits || in < kLeastChannels) return ConvolutionAlgorithm::kUnfolded;
  return height > 2 || width > 2 ? ConvolutionAlgorithm::kWinogradFour : ConvolutionAlgorithm::kWinogradTwo;
}

void convolution_forward(ConvolutionAlgorithm algorithm, const ConvolutionGeometry& geometry,
                         const ConvolutionInput& x, const ConstFilters& w, const float* bias, const Maps& y) {
  const TracedCall traced([&] { return work_of(algorithm, geometry, x.maps, w, y, 1, "forward"); });
  if (algorithm == ConvolutionAlgorithm::kUnfolded && takes_images(geometry, x)) {
    image_forward(geometry, x, w, bias, y);
  } else if (algorithm == ConvolutionAlgorithm::kUnfolded) {
    unfolded_forward(geometry, x, w, bias, y);
  } else {
    winograd_forward(tile_of(algorithm), x, w, bias, y);
  }
}

void convolution_backward(ConvolutionAlgorithm algorithm, const ConvolutionGeometry& geometry,
                          const ConvolutionInput& x, const ConstFilters& w, const ConstMaps& y_gradient,
                          const ConvolutionGradients& gradients) {
  const TracedCall traced([&] {
    const int convolutions =
        (gradients.input.data != nullptr ? 1 : 0) + (gradients.filters.data != nullptr ? 1 : 0);
    return work_of(algorithm, geometry, x.maps, w, y_gradient, convolutions, "backward");
  });
  SampleShare* share = exact_share();
  const bool is_in_order = share != nullptr && gradients.filters.data != nullptr &&
                           filter_parts(algorithm, share->whole(), w) == 1;
  if (!is_in_order) return run_backward(algorithm, geometry, x, w, y_gradient, gradients);
  ConvolutionGradients others = gradients;
  others.filters = {};
  run_backward(algorithm, geometry, x, w, y_gradient, others);
  filters_in_order(*share, algorithm, geometry, x, w, y_gradient, gradients.filters);
}

}  // namespace batchplus::kernels
