#pragma once

#include <ATen/ATen.h>

#include <memory>

#include "layers/linear.h"
#include "metrics/objective_function.h"
#include "networks/registry.h"

namespace batchplus::testing {

inline Samples samples_of_tensors(const torch::Tensor& images, const torch::Tensor& labels) {
  return {images.size(0), [images, labels](int64_t begin, int64_t count) {
            return Batch{images.slice(0, begin, begin + count), labels.slice(0, begin, begin + count)};
          }};
}

/// A network with samples to measure it on.
struct Problem {
  Problem(Model network, torch::Tensor all_images, torch::Tensor all_labels,
          ObjectiveFunction::Options objective_options = {})
      : model(std::move(network)),
        parameters(*model.module),
        images(std::move(all_images)),
        labels(std::move(all_labels)),
        options(std::move(objective_options)),
        objective(model, parameters, samples_of_tensors(images, labels), options) {}
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;

  /// The gradient of the samples' summed loss by plain autograd, in evaluation mode: [d], float64.
  torch::Tensor slow_gradient(const torch::Tensor& some_images, const torch::Tensor& some_labels) {
    model.module->eval();
    const torch::Tensor loss = options.loss(model.forward(some_images), some_labels).sum();
    const auto gradients = torch::autograd::grad({loss}, parameters.tensors(), {}, /*retain_graph=*/false,
                                                 /*create_graph=*/false, /*allow_unused=*/true);
    const torch::Tensor flat = torch::zeros_like(parameters.values());
    parameters.gather(gradients, flat);
    return flat.to(torch::kFloat64);
  }

  /// grad f_i for every sample, one after the other: [n,d].
  torch::Tensor slow_sample_gradients() {
    std::vector<torch::Tensor> rows;
    for (int64_t i = 0; i < images.size(0); ++i) {
      rows.push_back(slow_gradient(images.slice(0, i, i + 1), labels.slice(0, i, i + 1)));
    }
    return at::stack(rows);
  }

  /// H v by differentiating the gradient's product with v, all samples at once: [d].
  torch::Tensor slow_hessian_product(const torch::Tensor& v) {
    model.module->eval();
    const torch::Tensor losses = options.loss(model.forward(images), labels);
    const torch::Tensor value = options.reduction == Reduction::kMean ? losses.mean() : losses.sum();
    const auto gradients = torch::autograd::grad({value}, parameters.tensors(), {}, /*retain_graph=*/true,
                                                 /*create_graph=*/true);
    torch::Tensor along = torch::zeros({}, v.options());
    for (size_t i = 0; i < gradients.size(); ++i)
      along = along + (gradients[i] * parameters.view(v, i)).sum();
    const torch::Tensor product = torch::zeros_like(v);
    parameters.gather(torch::autograd::grad({along}, parameters.tensors(), {}, /*retain_graph=*/false,
                                            /*create_graph=*/false, /*allow_unused=*/true),
                      product);
    return product;
  }

  Model model;
  FlatParameters parameters;
  torch::Tensor images;
  torch::Tensor labels;
  ObjectiveFunction::Options options;
  ObjectiveFunction objective;
};

/// A network of the registry whose BatchNorm statistics are those of some images, not the initial ones.
inline Model used_network(const std::string& name, int64_t classes, torch::Dtype type,
                          NormalizationKind normalization = NormalizationKind::kBatch) {
  const Model model =
      build_network(find_network(name), {.classes = classes, .normalization = normalization}, /*seed=*/3);
  model.module->to(type);
  torch::manual_seed(4);
  const torch::NoGradGuard no_grad;
  for (int i = 0; i < 3; ++i) {
    model.forward((torch::randn({4, 3, 32, 32}, type) + 0.3).contiguous(model.memory_format));
  }
  return model;
}

inline std::unique_ptr<Problem> network_problem(const std::string& name, int64_t classes, int64_t samples,
                                                torch::Dtype type, ObjectiveFunction::Options options = {},
                                                NormalizationKind normalization = NormalizationKind::kBatch) {
  Model model = used_network(name, classes, type, normalization);
  torch::manual_seed(5);
  const torch::Tensor images = torch::randn({samples, 3, 32, 32}, type).contiguous(model.memory_format);
  const torch::Tensor labels = torch::randint(0, classes, {samples});
  return std::make_unique<Problem>(std::move(model), images, labels, std::move(options));
}

/// Linear regression: f_i = (a^T x_i + b - y_i)^2 / 2 with x_i the pixels and y_i the label. The parameters
/// are (a, b), in that order, and F is a quadratic whose every quantity is known.
struct LinearRegression {
  static torch::Tensor loss(const torch::Tensor& outputs, const torch::Tensor& labels) {
    return (outputs.squeeze(1) - labels.to(outputs.scalar_type())).square() / 2;
  }

  struct Network : torch::nn::Module {
    explicit Network(int64_t inputs)
        : linear(register_module("linear", std::make_shared<Linear>(inputs, 1))) {}
    torch::Tensor forward(const torch::Tensor& images) { return linear->forward(images.flatten(1)); }
    std::shared_ptr<Linear> linear;
  };

  explicit LinearRegression(int64_t n, int64_t inputs = 6, Reduction reduction = Reduction::kMean,
                            torch::Dtype type = torch::kFloat64) {
    torch::manual_seed(6);
    auto network = std::make_shared<Network>(inputs);
    network->to(type);
    problem = std::make_unique<Problem>(
        Model(network), torch::randn({n, inputs, 1, 1}, type), torch::randint(-3, 4, {n}),
        ObjectiveFunction::Options{.reduction = reduction, .loss = loss, .chunk = 7});
  }

  /// x_i with a one behind it: [n,d].
  torch::Tensor rows() const {
    const torch::Tensor x = problem->images.flatten(1);
    return at::cat({x, torch::ones({x.size(0), 1}, x.options())}, 1);
  }
  /// a^T x_i + b - y_i: [n].
  torch::Tensor residuals() const { return rows().mv(problem->parameters.values()) - problem->labels; }
  torch::Tensor sample_gradients() const { return rows() * residuals().unsqueeze(1); }
  /// Of F.
  torch::Tensor hessian() const {
    const double n =
        problem->options.reduction == Reduction::kMean ? static_cast<double>(rows().size(0)) : 1.0;
    return rows().t().mm(rows()) / n;
  }

  std::unique_ptr<Problem> problem;
};

/// ||a - b|| / ||b||.
inline double relative_error(const torch::Tensor& a, const torch::Tensor& b) {
  return ((a.to(torch::kFloat64) - b).norm() / b.norm()).item<double>();
}

}  // namespace batchplus::testing
