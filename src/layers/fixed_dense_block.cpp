#include "layers/fixed_dense_block.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>

#include "kernels/batch_norm.h"
#include "kernels/tensors.h"
#include "layers/function.h"

namespace batchplus {
namespace {

using namespace function;
using kernels::data_of;
using kernels::filters_of;
using kernels::kChannelsLast;
using kernels::maps_of;

/// One BN-ReLU-convolution of a block.
struct FixedStage {
  Watch norm;
  Watch convolution;
  BatchNormCoefficients by;
  Tensor weight;
  /// The maps between two stages of a layer; undefined for a first stage, which reads the block's.
  Tensor input;
};

/// What the backward pass needs: the stages of each layer in order.
struct FixedBlock : torch::CustomClassHolder {
  std::vector<std::vector<FixedStage>> layers;
  bool may_use_winograd = false;
};

/// The backward pass through one stage after the other.
class BackwardPass {
 public:
  BackwardPass(const FixedBlock& block, const Tensor& maps, Tensor sum)
      : block_(block), maps_(maps), sum_(std::move(sum)) {}

  void run() {
    int64_t last = maps_.size(1);
    for (auto layer = block_.layers.rbegin(); layer != block_.layers.rend(); ++layer) {
      const int64_t width = last - layer->back().weight.size(0);
      Tensor g = sum_.slice(1, width, last).contiguous(kChannelsLast);
      for (auto stage = layer->rbegin(); stage != layer->rend(); ++stage) g = through(*stage, g);
      last = width;
    }
  }

 private:
  /// From the gradient of a stage's output to that of its input; that of the block's maps is added to the
  /// sum.
  Tensor through(const FixedStage& stage, const Tensor& g) {
    const bool is_first = !stage.input.defined();
    const int64_t in = stage.weight.size(1);
    const kernels::Maps x = maps_of(is_first ? maps_ : stage.input, 0, in);
    if (stage.convolution.watcher != nullptr) {
      const Tensor normalized = kernels::make_maps(maps_, in, maps_.size(2), maps_.size(3));
      kernels::normalize(x, stage.by.scale_shift({}, /*is_relu=*/true), maps_of(normalized));
      stage.convolution.watcher->on_backward({*stage.convolution.layer, normalized, g});
    }
    const Tensor dy = kernels::make_maps(maps_, in, maps_.size(2), maps_.size(3));
    const DenseStep step(stage.weight, maps_, block_.may_use_winograd);
    kernels::convolution_backward(step.algorithm, step.geometry, {x, stage.by.scale(), stage.by.shift()},
                                  filters_of(stage.weight), maps_of(g),
                                  {.input = maps_of(dy), .filters = {}});
    const Tensor dx = is_first ? sum_ : at::empty_like(stage.input);
    const Tensor weights = at::empty({maps_.size(0), in}, maps_.options().memory_format(c10::nullopt));
    const Tensor biases = at::empty_like(weights);
    kernels::fixed_batch_norm_backward({.x = x,
                                        .y_gradient = maps_of(dy),
                                        .mask = kernels::ReluMask::kFromInput,
                                        .y = {},
                                        .scale = stage.by.scale(),
                                        .shift = stage.by.shift(),
                                        .mean = stage.by.mean(),
                                        .inverse_std = stage.by.inverse_std(),
                                        .x_gradient = maps_of(dx, 0, in),
                                        .is_adding = is_first,
                                        .addend_gradient = {},
                                        .sample_weights = data_of(weights),
                                        .sample_biases = data_of(biases)});
    if (stage.norm.watcher != nullptr)
      stage.norm.watcher->on_backward({*stage.norm.layer, {}, {}, weights, biases});
    return dx;
  }

  const FixedBlock& block_;
  Tensor maps_;
  Tensor sum_;
};

class FixedDenseBlockFunction : public Function<FixedDenseBlockFunction> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor&,
                        const c10::intrusive_ptr<FixedBlock>& block, bool is_kept) {
    int64_t width = x.size(1);
    int64_t channels = width;
    for (const auto& layer : block->layers) channels += layer.back().weight.size(0);
    const Tensor maps = kernels::make_maps(x, channels, x.size(2), x.size(3));
    maps.slice(1, 0, width).copy_(x);
    for (auto& layer : block->layers) {
      const int64_t last = width + layer.back().weight.size(0);
      Tensor input = maps;
      for (size_t i = 0; i < layer.size(); ++i) {
        FixedStage& stage = layer[i];
        const bool is_last = i + 1 == layer.size();
        const Tensor output =
            is_last ? maps : kernels::make_maps(x, stage.weight.size(0), x.size(2), x.size(3));
        const DenseStep step(stage.weight, maps, block->may_use_winograd);
        kernels::convolution_forward(
            step.algorithm, step.geometry,
            {maps_of(input, 0, stage.weight.size(1)), stage.by.scale(), stage.by.shift()},
            filters_of(stage.weight), nullptr, is_last ? maps_of(maps, width, last) : maps_of(output));
        if (i > 0 && is_kept) stage.input = input;
        input = output;
      }
      width = last;
    }
    context->save_for_backward({maps});
    context->saved_data["channels"] = x.size(1);
    context->saved_data["block"] = c10::IValue::make_capsule(block);
    return maps;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    refuse_second_derivative();
    const auto block =
        c10::dynamic_intrusive_pointer_cast<FixedBlock>(context->saved_data["block"].toCapsule());
    const Tensor maps = context->get_saved_variables()[0];
    // All layers add to it.
    const Tensor sum = gradients[0].clone(kChannelsLast);
    BackwardPass(*block, maps, sum).run();
    const int64_t channels = context->saved_data["channels"].toInt();
    return {sum.slice(1, 0, channels).contiguous(kChannelsLast), Tensor(), Tensor(), Tensor()};
  }
};

}  // namespace

torch::Tensor fixed_dense_block(const torch::Tensor& x, const std::vector<DenseLayerParts>& layers,
                                bool may_use_winograd) {
  auto block = c10::make_intrusive<FixedBlock>();
  block->may_use_winograd = may_use_winograd;
  bool is_watched = false;
  for (const DenseLayerParts& layer : layers) {
    auto& stages = block->layers.emplace_back();
    for (const DenseLayerParts::Stage& part : layer.stages) {
      stages.push_back({.norm = {part.norm_layer, part.norm_layer->watcher()},
                        .convolution = {part.convolution, part.convolution->watcher()},
                        .by = {part.norm.running_mean, part.norm.running_var, part.norm},
                        .weight = part.weight,
                        .input = {}});
      const FixedStage& stage = stages.back();
      is_watched = is_watched || stage.norm.watcher != nullptr || stage.convolution.watcher != nullptr;
    }
  }
  return FixedDenseBlockFunction::apply(x, make_trigger(is_watched), block, torch::GradMode::is_enabled());
}

}  // namespace batchplus
