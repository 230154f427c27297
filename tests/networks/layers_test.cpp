#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "layers/linear.h"
#include "networks/measure.h"
#include "networks/registry.h"

namespace batchplus {
namespace {

/// Keeps the outputs, and the gradients with respect to them.
class Recorder : public LayerObserver {
 public:
  void on_forward(const Layer& layer, const torch::Tensor& input, const torch::Tensor& output) override {
    const size_t i = layers.size();
    layers.push_back(&layer);
    inputs.push_back(input.detach());
    gradients.emplace_back();
    output.register_hook([this, i](const torch::Tensor& gradient) { gradients[i] = gradient.clone(); });
  }

  std::vector<const Layer*> layers;
  std::vector<torch::Tensor> inputs;
  std::vector<torch::Tensor> gradients;
};

// A linear layer's weight gradient is (output gradient)^T (input), a convolution's bias gradient is the sum
// of the output gradient: what an observer sees is enough for both.
TEST(LayerObservation, SeesInputsAndOutputGradients) {
  const Model model = build_network(find_network("vgg11:width=8"), {}, 1);
  Recorder recorder;
  torch::manual_seed(2);
  torch::Tensor loss;
  {
    const LayerObservation observation(*model.module, recorder);
    loss = at::cross_entropy_loss(model.forward(torch::randn({4, 3, 32, 32})), torch::tensor({1, 2, 3, 4}));
  }
  loss.backward();
  ASSERT_EQ(recorder.layers.size(), 8U + 8U + 3U);
  for (size_t i = 0; i < recorder.layers.size(); ++i) {
    const Layer& layer = *recorder.layers[i];
    const torch::Tensor& g = recorder.gradients[i];
    ASSERT_TRUE(g.defined()) << i;
    if (dynamic_cast<const Linear*>(&layer) != nullptr) {
      EXPECT_TRUE(at::allclose(g.t().mm(recorder.inputs[i]), layer.weight().grad(), 1e-4, 1e-7)) << i;
    } else {
      EXPECT_TRUE(at::allclose(g.sum({0, 2, 3}), layer.bias().grad(), 1e-4, 1e-6)) << i;
    }
  }
}

TEST(LayerObservation, ChangesNoNumberAndEndsWithItsScope) {
  const auto gradient = [](bool is_observed) {
    const Model model = build_network(find_network("resnet20:width=4"), {}, 1);
    // Observed layers are libtorch's; the project's own kernels round otherwise.
    use_kernels(*model.module, Kernels::kAten);
    Recorder recorder;
    torch::manual_seed(2);
    const torch::Tensor images = torch::randn({4, 3, 32, 32});
    if (is_observed) {
      const LayerObservation observation(*model.module, recorder);
      model.forward(images).square().mean().backward();
    } else {
      model.forward(images).square().mean().backward();
    }
    const size_t seen = recorder.layers.size();
    model.forward(images);
    EXPECT_EQ(recorder.layers.size(), seen);
    return model.module->parameters().front().grad();
  };
  EXPECT_TRUE(gradient(true).equal(gradient(false)));
}

TEST(ListLayers, AddsUpToParametersAndMacs) {
  for (const auto& info : networks()) {
    const Model model = build_network(info, {}, 1);
    int64_t parameters = 0;
    int64_t macs = 0;
    for (const LayerRow& layer : list_layers(model, 3, 32)) {
      parameters += layer.parameters;
      macs += layer.macs;
    }
    EXPECT_EQ(parameters, count_parameters(*model.module)) << info.name;
    EXPECT_EQ(macs, count_macs(model, 3, 32)) << info.name;
  }
}

TEST(ActivationBytes, OfAnMlpAreItsHiddenLayersAndItsLogarithms) {
  const Model model = build_network(find_network("mlp"), {}, 1);
  // Two hidden layers after their ReLU (before it is not needed again), and the logarithms of the
  // probabilities. The flattened images are views. The logits may be gone already; the loss and its total
  // weight may be rounded up to lines of 64 bytes.
  const int64_t bytes = measure_activation_bytes(model, 32, 3, 32);
  EXPECT_GE(bytes, 4 * 32 * (2 * 100 + 10));
  EXPECT_LE(bytes, 4 * 32 * (2 * 100 + 2 * 10) + 2 * 64);
  EXPECT_NEAR(measure_activation_bytes(model, 64, 3, 32), 2 * bytes, 256);
}

}  // namespace
}  // namespace batchplus
