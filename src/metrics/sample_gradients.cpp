#include "metrics/sample_gradients.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/nn/modules/batchnorm.h>

#include <numeric>
#include <optional>

#include "kernels/vector_kernels.h"
#include "metrics/layer_rules.h"
#include "util/error.h"
#include "util/text.h"

namespace batchplus {
namespace {

/// Lets every BatchNorm normalise by the given statistics in evaluation mode until the end of the scope.
class EvaluationStatistics {
 public:
  EvaluationStatistics(torch::nn::Module& module, BatchNorm::Statistics statistics) {
    for (const auto& part : module.modules()) {
      if (auto* norm = dynamic_cast<BatchNorm*>(part.get())) norms_.push_back(norm);
    }
    for (BatchNorm* norm : norms_) norm->set_evaluation_statistics(statistics);
  }
  ~EvaluationStatistics() {
    for (BatchNorm* norm : norms_) norm->set_evaluation_statistics(BatchNorm::Statistics::kRunning);
  }
  EvaluationStatistics(const EvaluationStatistics&) = delete;
  EvaluationStatistics& operator=(const EvaluationStatistics&) = delete;

 private:
  std::vector<BatchNorm*> norms_;
};

/// Whether the module computes with its batch's statistics even in evaluation mode.
bool couples_samples(const torch::nn::Module& module) {
  const auto is_without_running_statistics = [](const auto* norm) {
    return norm != nullptr && !norm->options.track_running_stats();
  };
  return is_without_running_statistics(dynamic_cast<const torch::nn::BatchNorm1dImpl*>(&module)) ||
         is_without_running_statistics(dynamic_cast<const torch::nn::BatchNorm2dImpl*>(&module)) ||
         is_without_running_statistics(dynamic_cast<const torch::nn::BatchNorm3dImpl*>(&module));
}

void require_independent_samples(const torch::nn::Module& module) {
  for (const auto& item : module.named_modules()) {
    if (!couples_samples(*item.value())) continue;
    throw Error("a sample has no gradient of its own",
                {item.key(), "batch norm without running statistics",
                 "its statistics tie the samples of a batch together; give it running statistics"});
  }
}

/// The name of the module that a parameter belongs to.
std::string owner_name(const std::string& parameter) {
  const size_t dot = parameter.rfind('.');
  return dot == std::string::npos ? parameter : parameter.substr(0, dot);
}

/// One measurement.
class Measurement {
 public:
  Measurement(const ObjectiveFunction& objective, const SampleGradientOptions& options)
      : objective_(objective),
        parameters_(objective.parameters()),
        chunks_(objective.chunks()),
        passes_(objective.model(), parameters_, objective.batch(0, 1).images) {
    for (const LayerPlace& place : passes_.layers()) result_.layer_names.push_back(place.name);
    group_rest();
    if (rest_.empty()) return;
    std::vector<std::string> names;
    for (const auto& [name, slices] : rest_) names.push_back(name);
    if (options.statistics == BatchNorm::Statistics::kBatch) {
      throw Error(
          "batch statistics need a rule for every layer",
          {"batch norm", join(names, ", "),
           "these modules are looped over sample by sample, which leaves no batch; use eval statistics"});
    }
    result_.notes.push_back(fmt::format("{}: no rule for {}, looped over sample by sample",
                                        rest_.size() == 1 ? "a module" : "some modules", join(names, ", ")));
  }

  SampleGradientNorms run() {
    const int64_t chunk = objective_.options().chunk;
    const auto layers = static_cast<int64_t>(result_.layer_names.size());
    // For each chunk the losses, then the norms of each layer. The last chunk may have fewer samples.
    const torch::Tensor table = torch::zeros({chunks_.number(), 1 + layers, chunk}, torch::kFloat64);
    const auto pass = [&](const SharedChunks::Chunk& own) {
      return measure(objective_.batch(own.begin, own.count), table[own.number].slice(1, 0, own.count));
    };
    const torch::Tensor sum = chunks_.sum(parameters_.values(), pass, objective_.options().on_samples);
    chunks_.gather(table.data_ptr<double>(), (1 + layers) * chunk);
    const torch::Tensor rows =
        table.transpose(0, 1).reshape({1 + layers, -1}).slice(1, 0, objective_.samples()).contiguous();
    result_.losses = rows[0].clone();
    result_.layer_squared_norms = rows.slice(0, 1).clone();
    result_.squared_norms = result_.layer_squared_norms.sum(0);
    const bool is_mean = objective_.options().reduction == Reduction::kMean;
    const double scale = is_mean ? 1.0 / static_cast<double>(objective_.samples()) : 1.0;
    result_.gradient = sum.mul(scale).to(parameters_.values().scalar_type());
    return std::move(result_);
  }

 private:
  struct RestModule {
    std::string name;
    std::vector<size_t> slices;
  };

  void group_rest() {
    for (const size_t slice : passes_.rest()) {
      const std::string name = owner_name(parameters_.slices()[slice].name);
      if (rest_.empty() || rest_.back().name != name) {
        rest_.push_back({name, {}});
        result_.layer_names.push_back(name);
      }
      rest_.back().slices.push_back(slice);
    }
  }

  /// The sum of the samples' gradients: [d], valid until the next call. `measured`: [1 + layers,N] gets the
  /// losses and the norms of each layer.
  const torch::Tensor& measure(const Batch& batch, const torch::Tensor& measured) {
    const torch::Tensor norms = measured.slice(0, 1);
    // Own kernels write a layer's where it belongs.
    if (!gradient_.defined()) gradient_ = torch::empty_like(parameters_.values());
    std::vector<torch::Tensor> gradients(parameters_.slices().size());
    const GradientTarget target(parameters_, gradient_);
    const auto on_layer = [&](size_t place, const LayerPass& pass) {
      const SampleLayerGradients of_samples = rule_for(pass.layer).sample_gradients(pass);
      const LayerPlace& where = passes_.layers()[place];
      norms[static_cast<int64_t>(place)].copy_(of_samples.squared_norms);
      gradients[*where.weight] = of_samples.sum.weight;
      if (where.bias) gradients[*where.bias] = of_samples.sum.bias;
    };
    const auto on_rest = [&](size_t slice, const torch::Tensor& sum) { gradients[slice] = sum; };
    measured[0].copy_(passes_.run(batch, objective_.options().loss, {on_layer, on_rest}));
    loop_over_rest(batch, norms);
    parameters_.gather(gradients, gradient_);
    return gradient_;
  }

  /// Fills the rows of norms: [layers,N] that belong to no layer with a rule.
  void loop_over_rest(const Batch& batch, const torch::Tensor& norms) const {
    if (rest_.empty()) return;
    std::vector<torch::Tensor> wanted;
    for (const size_t slice : passes_.rest()) wanted.push_back(parameters_.tensors()[slice]);
    const torch::AutoGradMode with_grad(true);
    for (int64_t i = 0; i < batch.size(); ++i) {
      const torch::Tensor outputs = objective_.model().forward(batch.images.slice(0, i, i + 1));
      const torch::Tensor loss = objective_.options().loss(outputs, batch.labels.slice(0, i, i + 1)).sum();
      const auto gradients = torch::autograd::grad({loss}, wanted, {}, /*retain_graph=*/false,
                                                   /*create_graph=*/false, /*allow_unused=*/true);
      auto gradient = gradients.begin();
      auto row = static_cast<int64_t>(passes_.layers().size());
      for (const RestModule& module : rest_) {
        for (size_t k = 0; k < module.slices.size(); ++k, ++gradient) {
          if (gradient->defined()) norms[row][i] += gradient->square().sum(torch::kFloat64);
        }
        ++row;
      }
    }
  }

  const ObjectiveFunction& objective_;
  const FlatParameters& parameters_;
  SharedChunks chunks_;
  LayerPasses passes_;
  std::vector<RestModule> rest_;
  SampleGradientNorms result_;
  /// Of a chunk.
  torch::Tensor gradient_;
};

}  // namespace

double SampleGradientNorms::mean_squared_norm() const {
  // One after the other, so that the bits do not depend on the number of threads.
  const auto n = static_cast<size_t>(squared_norms.numel());
  const double* first = squared_norms.data_ptr<double>();
  return std::accumulate(first, first + n, 0.0) / static_cast<double>(n);
}

double SampleGradientNorms::variance() const {
  if (losses.numel() == 1) return 0;
  const double variance = mean_squared_norm() - kernels::squared_norm(gradient);
  // Rounding may take it below zero. What is not a number stays that.
  return variance < 0 ? 0 : variance;
}

SampleGradientNorms measure_sample_gradients(const ObjectiveFunction& objective,
                                             const SampleGradientOptions& options) {
  torch::nn::Module& module = *objective.model().module;
  require_independent_samples(module);
  const EvaluationMode evaluation(objective.model());
  const EvaluationStatistics statistics(module, options.statistics);
  return Measurement(objective, options).run();
}

}  // namespace batchplus
