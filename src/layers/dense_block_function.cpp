#include "layers/dense_block_function.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>

#include "core/flat_parameters.h"
#include "kernels/batch_norm.h"
#include "kernels/convolution.h"
#include "kernels/tensors.h"
#include "layers/function.h"

namespace batchplus {
namespace {

using namespace function;
using kernels::data_of;
using kernels::filters_of;
using kernels::kChannelsLast;
using kernels::maps_of;

/// How a block is computed, besides tensors.
struct Plan {
  std::vector<DenseLayerParts> layers;
  bool may_use_winograd;
};

/// Moments of the block's maps by channels, filled as the maps come.
struct BlockMoments {
  Tensor mean;
  Tensor variance;

  BlockMoments(const Tensor& maps, int64_t channels)
      : mean(at::empty({channels}, maps.options().memory_format(c10::nullopt))),
        variance(at::empty_like(mean)) {}
  void take(const Tensor& maps, int64_t begin, int64_t end) {
    kernels::channel_moments(maps_of(maps, begin, end), data_of(mean) + begin, data_of(variance) + begin);
  }
};

class DenseBlockFunction : public Function<DenseBlockFunction> {
 public:
  /// `parameters`: for each stage weight and bias of its norm, then the filters.
  static Tensor forward(AutogradContext* context, const Tensor& x, at::TensorList parameters,
                        const Plan& plan) {
    static_cast<void>(parameters);  // the plan has them too
    int64_t channels = x.size(1);
    for (const DenseLayerParts& layer : plan.layers) channels += layer.stages.back().weight.size(0);
    const Tensor maps = kernels::make_maps(x, channels, x.size(2), x.size(3));
    int64_t width = x.size(1);
    maps.slice(1, 0, width).copy_(x);
    BlockMoments moments(maps, channels);
    moments.take(maps, 0, width);

    variable_list saved{maps};
    for (const DenseLayerParts& layer : plan.layers) {
      const int64_t last = width + layer.stages.back().weight.size(0);
      Tensor input = maps;
      for (size_t i = 0; i < layer.stages.size(); ++i) {
        const BatchNormParts& norm = layer.stages[i].norm;
        const Tensor& weight = layer.stages[i].weight;
        const int64_t in = weight.size(1);
        const BatchNormCoefficients by = coefficients(norm, i == 0 ? moments : moments_of(input), in, input);
        const bool is_last = i + 1 == layer.stages.size();
        const Tensor output = is_last ? maps : kernels::make_maps(x, weight.size(0), x.size(2), x.size(3));
        const DenseStep step(weight, maps, plan.may_use_winograd);
        kernels::convolution_forward(step.algorithm, step.geometry,
                                     {maps_of(input, 0, in), by.scale(), by.shift()}, filters_of(weight),
                                     nullptr, is_last ? maps_of(maps, width, last) : maps_of(output));
        input = output;
        saved.push_back(by.tensor());
        saved.push_back(weight);
        if (!is_last) saved.push_back(output);
      }
      moments.take(maps, width, last);
      width = last;
    }
    context->save_for_backward(saved);
    context->saved_data["channels"] = x.size(1);
    context->saved_data["winograd"] = plan.may_use_winograd;
    context->saved_data["stages"] =
        plan.layers.empty() ? int64_t{0} : static_cast<int64_t>(plan.layers[0].stages.size());
    return maps;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    refuse_second_derivative();
    const variable_list saved = context->get_saved_variables();
    const bool may_use_winograd = context->saved_data["winograd"].toBool();
    const int64_t first = context->saved_data["channels"].toInt();
    const int64_t stages = context->saved_data["stages"].toInt();
    const Tensor& maps = saved[0];
    // All layers add to it.
    const Tensor sum = gradients[0].clone(kChannelsLast);
    // What each layer keeps: coefficients and filters of each stage, and the maps between two stages.
    const int64_t kept = 3 * stages - 1;
    const int64_t layers = stages == 0 ? 0 : (static_cast<int64_t>(saved.size()) - 1) / kept;
    int64_t widest = 0;
    for (int64_t i = 0; i < layers * stages; ++i) {
      widest = std::max(widest, saved[static_cast<size_t>(2 + i / stages * kept + i % stages * 3)].size(1));
    }
    const Tensor normalized_gradient = kernels::make_maps(maps, widest, maps.size(2), maps.size(3));

    variable_list parameter_gradients(static_cast<size_t>(3 * stages * layers));
    int64_t last = maps.size(1);
    for (int64_t l = layers - 1; l >= 0; --l) {
      const auto kept_at = [&](int64_t i) -> const Tensor& {
        return saved[static_cast<size_t>(1 + l * kept + i)];
      };
      const int64_t width = last - kept_at(3 * (stages - 1) + 1).size(0);
      kernels::Maps output_gradient = maps_of(sum, width, last);
      Tensor between;  // keeps what output_gradient points to
      for (int64_t i = stages - 1; i >= 0; --i) {
        const BatchNormCoefficients by(kept_at(3 * i));
        const Tensor& weight = kept_at(3 * i + 1);
        const Tensor& input = i == 0 ? maps : kept_at(3 * (i - 1) + 2);
        const int64_t in = weight.size(1);
        const kernels::Maps x = maps_of(input, 0, in);
        // The gradient of the normalised maps, side by side without gaps.
        kernels::Maps dy = x;
        dy.data = data_of(normalized_gradient);
        dy.stride = in;
        const Tensor dw = GradientTarget::tensor_for(weight);
        const DenseStep step(weight, maps, may_use_winograd);
        kernels::convolution_backward(step.algorithm, step.geometry, {x, by.scale(), by.shift()},
                                      filters_of(weight), output_gradient, {dy, filters_of(dw), nullptr});
        const Tensor norm_gradients = at::empty({2, in}, by.tensor().options());
        const Tensor dx = i == 0 ? sum : at::empty_like(input);
        kernels::batch_norm_backward({.x = x,
                                      .y_gradient = dy,
                                      .mask = kernels::ReluMask::kFromInput,
                                      .y = {},
                                      .scale = by.scale(),
                                      .shift = by.shift(),
                                      .mean = by.mean(),
                                      .inverse_std = by.inverse_std(),
                                      .x_gradient = maps_of(dx, 0, in),
                                      .is_adding = i == 0,
                                      .weight_gradient = data_of(norm_gradients),
                                      .bias_gradient = data_of(norm_gradients) + in,
                                      .addend_gradient = {}});
        const auto place = static_cast<size_t>(3 * (l * stages + i));
        parameter_gradients[place] = norm_gradients[0];
        parameter_gradients[place + 1] = norm_gradients[1];
        parameter_gradients[place + 2] = dw;
        between = dx;
        output_gradient = maps_of(between);
      }
      last = width;
    }
    variable_list result{sum.slice(1, 0, first).contiguous(kChannelsLast)};
    result.insert(result.end(), parameter_gradients.begin(), parameter_gradients.end());
    result.emplace_back();
    return result;
  }

 private:
  /// Those of maps between two convolutions.
  static BlockMoments moments_of(const Tensor& maps) {
    BlockMoments moments(maps, maps.size(1));
    moments.take(maps, 0, maps.size(1));
    return moments;
  }

  static BatchNormCoefficients coefficients(const BatchNormParts& norm, const BlockMoments& moments,
                                            int64_t channels, const Tensor& maps) {
    const Tensor mean = moments.mean.slice(0, 0, channels);
    const Tensor variance = moments.variance.slice(0, 0, channels);
    move_running(norm, mean, variance, kernels::batch_pixels(maps_of(maps)));
    return {mean, variance, norm};
  }
};

}  // namespace

DenseStep::DenseStep(const torch::Tensor& weight, const torch::Tensor& maps, bool may_use_winograd)
    : geometry{weight.size(2), 1, weight.size(2) / 2},
      algorithm(kernels::choose_algorithm(geometry, weight.size(1), maps.size(2), maps.size(3),
                                          may_use_winograd)) {}

torch::Tensor dense_block(const torch::Tensor& x, const std::vector<DenseLayerParts>& layers,
                          bool may_use_winograd) {
  variable_list parameters;
  for (const DenseLayerParts& layer : layers) {
    for (const DenseLayerParts::Stage& stage : layer.stages) {
      parameters.insert(parameters.end(), {stage.norm.weight, stage.norm.bias, stage.weight});
    }
  }
  return DenseBlockFunction::apply(x, at::TensorList(parameters), Plan{layers, may_use_winograd});
}

}  // namespace batchplus
