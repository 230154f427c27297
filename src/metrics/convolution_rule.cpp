#include "metrics/convolution_rule.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "kernels/convolution.h"
#include "kernels/processor.h"
#include "kernels/tensors.h"
#include "layers/convolution.h"
#include "metrics/layer_rules.h"
#include "metrics/pixel_sums.h"

namespace batchplus {
namespace {

kernels::ConvolutionShape shape_of(const Convolution& layer, const torch::Tensor& x, const torch::Tensor& g) {
  const Convolution::Options& options = layer.options();
  return {.in = options.in,
          .out = options.out,
          .kernel = options.kernel,
          .stride = options.stride,
          .padding = options.padding,
          .height = x.size(2),
          .width = x.size(3),
          .out_height = g.size(2),
          .out_width = g.size(3)};
}

/// The weight gradient summed over the samples of x: [N,in,H,W] and g: [N,out,H',W'].
torch::Tensor weight_gradient(const Convolution& layer, const torch::Tensor& x, const torch::Tensor& g) {
  const Convolution::Options& o = layer.options();
  const std::array<bool, 3> only_weight = {false, true, false};
  return std::get<1>(at::convolution_backward(g, x, layer.weight().detach(), c10::nullopt,
                                              {o.stride, o.stride}, {o.padding, o.padding}, {1, 1},
                                              /*transposed=*/false, {0, 0}, /*groups=*/1, only_weight));
}

/// The same by own kernels, for maps with their channels side by side.
torch::Tensor weight_gradient_by_kernels(const Convolution& layer, const torch::Tensor& x,
                                         const torch::Tensor& g) {
  const Convolution::Options& o = layer.options();
  const kernels::ConvolutionGeometry geometry{o.kernel, o.stride, o.padding};
  const torch::Tensor dw = GradientTarget::tensor_for(layer.weight());
  kernels::ConvolutionGradients wanted;
  wanted.filters = kernels::filters_of(dw);
  kernels::convolution_backward(
      kernels::choose_algorithm(geometry, x.size(1), x.size(2), x.size(3), layer.kernels() == Kernels::kFast),
      geometry, {.maps = kernels::maps_of(x)}, kernels::filters_of(layer.weight()), kernels::maps_of(g),
      wanted);
  return dw;
}

SampleLayerGradients with_kernels(const Convolution& layer, const kernels::ConvolutionShape& shape,
                                  const torch::Tensor& input, const torch::Tensor& output_gradient) {
  const torch::Tensor x = input.contiguous(torch::MemoryFormat::ChannelsLast);
  const torch::Tensor g = output_gradient.contiguous(torch::MemoryFormat::ChannelsLast);
  const kernels::ConvolutionBatch batch{x.size(0), x.data_ptr<float>(), g.data_ptr<float>()};
  SampleLayerGradients gradients;
  gradients.squared_norms = torch::empty({batch.samples}, torch::kFloat64);
  auto* squared_norms = gradients.squared_norms.data_ptr<double>();
  const ConvolutionPlan plan = plan_convolution(shape, layer.kernels() == Kernels::kFast);
  if (plan == ConvolutionPlan::kForm) {
    const torch::Tensor sum = torch::empty({shape.out, shape.kernel, shape.kernel, shape.in});
    kernels::form_sample_gradients(shape, batch, sum.data_ptr<float>(), squared_norms);
    gradients.sum.weight = sum.permute({0, 3, 1, 2});
  } else if (plan == ConvolutionPlan::kWinograd) {
    gradients.sum.weight = GradientTarget::tensor_for(layer.weight());
    kernels::winograd_sample_gradients(kernels::maps_of(x), kernels::maps_of(g),
                                       kernels::filters_of(gradients.sum.weight), squared_norms);
  } else {
    kernels::gram_squared_norms(shape, batch, squared_norms);
    gradients.sum.weight = layer.kernels() == Kernels::kAten ? weight_gradient(layer, x, g)
                                                             : weight_gradient_by_kernels(layer, x, g);
  }
  return gradients;
}

/// Any device and type. Forms the gradients of a few samples at a time.
SampleLayerGradients with_aten(const Convolution& layer, const kernels::ConvolutionShape& shape,
                               const torch::Tensor& x, const torch::Tensor& g) {
  constexpr int64_t kElementsAtATime = int64_t{1} << 24;
  const int64_t patch = shape.kernel * shape.kernel * shape.in;
  const int64_t per_sample =
      std::max(shape.weights(), patch * shape.out_pixels()) + shape.out_pixels() * shape.out_pixels();
  const int64_t samples_at_a_time = std::max<int64_t>(1, kElementsAtATime / per_sample);
  std::vector<torch::Tensor> squared_norms;
  for (int64_t begin = 0; begin < x.size(0); begin += samples_at_a_time) {
    const int64_t end = std::min(begin + samples_at_a_time, x.size(0));
    // [n, patch, pixels] and [n, out, pixels]
    const torch::Tensor patches = at::im2col(x.slice(0, begin, end), {shape.kernel, shape.kernel}, {1, 1},
                                             {shape.padding, shape.padding}, {shape.stride, shape.stride});
    const torch::Tensor gradients = g.slice(0, begin, end).flatten(2);
    const torch::Tensor products =
        plan_convolution(shape, /*may_use_winograd=*/false) == ConvolutionPlan::kForm
            ? gradients.bmm(patches.transpose(1, 2)).square()
            : patches.transpose(1, 2).bmm(patches) * gradients.transpose(1, 2).bmm(gradients);
    squared_norms.push_back(products.sum({1, 2}, /*keepdim=*/false, torch::kFloat64));
  }
  return {{weight_gradient(layer, x, g), {}}, at::cat(squared_norms)};
}

}  // namespace

// In multiply-adds a sample, besides one weight gradient, which all ways include.
ConvolutionPlan plan_convolution(const kernels::ConvolutionShape& shape, bool may_use_winograd) {
  const int64_t taps = shape.kernel * shape.kernel;
  const int64_t in_squared = shape.in_pixels() * shape.in_pixels();
  const int64_t out_squared = shape.out_pixels() * shape.out_pixels();
  const auto algorithm = kernels::choose_algorithm({shape.kernel, shape.stride, shape.padding}, shape.in,
                                                   shape.height, shape.width, may_use_winograd);
  if (algorithm == kernels::ConvolutionAlgorithm::kWinogradFour) {
    // The weight gradient is a quarter as dear as the direct one. What is left is to transform each sample's
    // filters back, about 150 operations for each pair of channels, against the halves of two symmetric
    // matrices.
    constexpr int64_t kBack = 150;
    const int64_t back = kBack * shape.in * shape.out;
    const int64_t gram = (in_squared * shape.in + out_squared * shape.out) / 2 + taps * out_squared;
    return back <= gram ? ConvolutionPlan::kWinograd : ConvolutionPlan::kGram;
  }
  // Forming adds each weight's square and sum, which cost as much as so many multiply-adds when they come
  // from a core's own cache, and when they do not (measured on 512 -> 512 channels and 4 x 4 pixels, where
  // forming runs at a third of its usual rate).
  constexpr int64_t kCachedWeights = int64_t{128} << 10;
  const int64_t per_weight = shape.weights() <= kCachedWeights ? 4 : 24;
  const int64_t forming = per_weight * shape.weights();
  const int64_t gram = in_squared * shape.in + out_squared * shape.out + 2 * taps * out_squared;
  return forming <= gram ? ConvolutionPlan::kForm : ConvolutionPlan::kGram;
}

SampleLayerGradients convolution_sample_gradients(const LayerPass& pass) {
  const auto& layer = static_cast<const Convolution&>(pass.layer);
  const torch::Tensor& x = pass.input;
  const torch::Tensor& g = pass.output_gradient;
  const kernels::ConvolutionShape shape = shape_of(layer, x, g);
  const bool has_kernels = x.is_cpu() && x.scalar_type() == torch::kFloat32 &&
                           g.scalar_type() == torch::kFloat32 && kernels::are_available();
  SampleLayerGradients gradients =
      has_kernels ? with_kernels(layer, shape, x, g) : with_aten(layer, shape, x, g);
  if (layer.bias().defined()) {
    const torch::Tensor bias = sum_over_pixels(g);
    gradients.sum.bias = sum_of_rows(bias);
    gradients.squared_norms += squared_row_norms(bias);
  }
  return gradients;
}

}  // namespace batchplus
