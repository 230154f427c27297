#pragma once

#include <torch/torch.h>

#include <functional>
#include <numeric>
#include <vector>

namespace batchplus::testing {

using SampleIndices = std::vector<int64_t>;

/// A two-layer network with tanh and softmax cross-entropy on a few random samples: smooth in its weights,
/// and in double precision, as a function of one flat vector w: [d].
class SmoothProblem {
 public:
  static constexpr int64_t kInputs = 3;
  static constexpr int64_t kHidden = 4;
  static constexpr int64_t kClasses = 3;
  static constexpr int64_t kWeights = kHidden * (kInputs + 1) + kClasses * (kHidden + 1);

  explicit SmoothProblem(int64_t samples) : size(samples) {
    torch::manual_seed(7);
    images = torch::randn({samples, kInputs, 1, 1}, torch::kFloat64);
    labels = torch::randint(0, kClasses, {samples});
    start = torch::randn({kWeights}, torch::kFloat64);
  }

  /// images: [N,3,1,1]; to [N,3].
  static torch::Tensor logits(const torch::Tensor& w, const torch::Tensor& some_images) {
    const auto parts = w.split_with_sizes({kHidden * kInputs, kHidden, kClasses * kHidden, kClasses});
    const torch::Tensor hidden =
        torch::tanh(torch::linear(some_images.flatten(1), parts[0].view({kHidden, kInputs}), parts[1]));
    return torch::linear(hidden, parts[2].view({kClasses, kHidden}), parts[3]);
  }

  /// The mean loss of some samples.
  torch::Tensor loss(const torch::Tensor& w, const SampleIndices& samples) const {
    const torch::Tensor chosen = torch::tensor(samples);
    return torch::cross_entropy_loss(logits(w, images.index_select(0, chosen)),
                                     labels.index_select(0, chosen));
  }

  /// Its gradient, which can itself be differentiated: [d].
  torch::Tensor differentiable_gradient(const torch::Tensor& w, const SampleIndices& samples) const {
    return torch::autograd::grad({loss(w, samples)}, {w}, {}, /*retain_graph=*/true,
                                 /*create_graph=*/true)[0];
  }

  torch::Tensor gradient(const torch::Tensor& w, const SampleIndices& samples) const {
    const torch::Tensor at = w.detach().requires_grad_();
    return torch::autograd::grad({loss(at, samples)}, {at})[0];
  }

  SampleIndices all() const {
    SampleIndices samples(static_cast<size_t>(size));
    std::iota(samples.begin(), samples.end(), 0);
    return samples;
  }

  int64_t size;
  torch::Tensor images;
  torch::Tensor labels;
  torch::Tensor start;
};

/// The same network as a module in single precision, for the gradient oracle.
struct SmoothNetwork : torch::nn::Module {
  explicit SmoothNetwork(const torch::Tensor& w)
      : weights(register_parameter("weights", w.to(torch::kFloat32).clone())) {}
  torch::Tensor forward(const torch::Tensor& some_images) {
    return SmoothProblem::logits(weights, some_images);
  }
  torch::Tensor weights;
};

/// A scalar function of w that autograd can differentiate.
using ScalarFunction = std::function<torch::Tensor(const torch::Tensor& w)>;

inline torch::Tensor gradient_of(const ScalarFunction& f, const torch::Tensor& w) {
  const torch::Tensor at = w.detach().requires_grad_();
  return torch::autograd::grad({f(at)}, {at})[0];
}

/// Where the gradient flow of f ends after a time, by the classical Runge-Kutta method: its error is far
/// below the third order in the time.
inline torch::Tensor flow(const ScalarFunction& f, torch::Tensor w, double time, int steps = 4) {
  const double h = time / steps;
  for (int i = 0; i < steps; ++i) {
    const torch::Tensor k1 = gradient_of(f, w);
    const torch::Tensor k2 = gradient_of(f, w - h / 2 * k1);
    const torch::Tensor k3 = gradient_of(f, w - h / 2 * k2);
    const torch::Tensor k4 = gradient_of(f, w - h * k3);
    w = w - h / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
  }
  return w;
}

}  // namespace batchplus::testing
