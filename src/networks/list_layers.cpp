#include <ATen/ATen.h>
#include <fmt/format.h>

#include <map>

#include "networks/layers.h"
#include "networks/measure.h"

namespace batchplus {
namespace {

std::string describe(const Layer& layer) {
  switch (layer.kind()) {
    case Layer::Kind::kLinear: return "linear";
    case Layer::Kind::kBatchNorm: return "batch norm";
    case Layer::Kind::kConvolution: break;
  }
  const auto& options = dynamic_cast<const Convolution&>(layer).options();
  const std::string stride = options.stride == 1 ? "" : fmt::format("/{}", options.stride);
  return fmt::format("conv {0}x{0}{1}", options.kernel, stride);
}

class LayerLister : public LayerObserver {
 public:
  explicit LayerLister(const torch::nn::Module& module) {
    for (const auto& item : module.named_modules()) names_[item.value().get()] = item.key();
  }

  void on_forward(const Layer& layer, const torch::Tensor&, const torch::Tensor& output) override {
    LayerRow row;
    row.name = names_.at(&layer);
    row.kind = describe(layer);
    row.output = output.sizes().slice(1).vec();
    const torch::Tensor& weight = layer.weight();
    row.parameters = weight.numel() + (layer.bias().defined() ? layer.bias().numel() : 0);
    // Every output element of a convolution or a linear layer is a dot product as long as one filter.
    if (layer.kind() != Layer::Kind::kBatchNorm)
      row.macs = output.numel() * (weight.numel() / weight.size(0));
    rows.push_back(row);
  }

  std::vector<LayerRow> rows;

 private:
  std::map<const torch::nn::Module*, std::string> names_;
};

}  // namespace

std::vector<LayerRow> list_layers(const Model& model, int64_t channels, int64_t side) {
  const torch::NoGradGuard no_grad;
  const bool was_training = model.module->is_training();
  model.module->eval();
  LayerLister lister(*model.module);
  {
    const LayerObservation observation(*model.module, lister);
    model.forward(torch::zeros({1, channels, side, side}));
  }
  model.module->train(was_training);
  return lister.rows;
}

}  // namespace batchplus
