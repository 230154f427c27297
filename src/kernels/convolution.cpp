#include "kernels/convolution.h"

#include <fmt/format.h>

#include "kernels/batch_norm.h"
#include "kernels/image_convolution.h"
#include "kernels/trace.h"
#include "kernels/unfolded_convolution.h"
#include "kernels/winograd.h"

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

}  // namespace batchplus::kernels
