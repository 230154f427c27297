#include "kernels/convolution.h"

#include "kernels/unfolded_convolution.h"
#include "kernels/winograd.h"

namespace batchplus {
namespace {

WinogradTile tile_of(ConvolutionAlgorithm algorithm) {
  return algorithm == ConvolutionAlgorithm::kWinogradTwo ? WinogradTile::kTwo : WinogradTile::kFour;
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
  if (algorithm == ConvolutionAlgorithm::kUnfolded) {
    unfolded_forward(geometry, x, w, bias, y);
  } else {
    winograd_forward(tile_of(algorithm), x, w, bias, y);
  }
}

void convolution_backward(ConvolutionAlgorithm algorithm, const ConvolutionGeometry& geometry,
                          const ConvolutionInput& x, const ConstFilters& w, const ConstMaps& y_gradient,
                          const ConvolutionGradients& gradients) {
  if (algorithm == ConvolutionAlgorithm::kUnfolded) {
    unfolded_backward(geometry, x, w, y_gradient, gradients);
  } else {
    winograd_backward(tile_of(algorithm), x, w, y_gradient, gradients);
  }
}

}  // namespace batchplus
