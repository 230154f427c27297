#include <map>

#include "layers/layer.h"
#include "networks/measure.h"

namespace batchplus {
namespace {

class LayerLister : public LayerObserver {
 public:
  explicit LayerLister(const torch::nn::Module& module) {
    for (const auto& item : module.named_modules()) names_[item.value().get()] = item.key();
  }

  void on_forward(const Layer& layer, const torch::Tensor&, const torch::Tensor& output) override {
    LayerRow row;
    row.name = names_.at(&layer);
    row.kind = layer.describe();
    row.output = output.sizes().slice(1).vec();
    for (const torch::Tensor& parameter : layer.parameters()) row.parameters += parameter.numel();
    row.macs = layer.macs(output);
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
