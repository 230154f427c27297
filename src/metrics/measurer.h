#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "data/image_view.h"
#include "metrics/implicit_regularization.h"
#include "metrics/lanczos.h"
#include "metrics/sample_gradients.h"
#include "objective/evaluate.h"

namespace batchplus {

struct MeasureOptions {
  /// Training samples to measure on, classes balanced. Unset: all of them for gradient norms and gaps, at
  /// most kCurvatureSamples for what takes many passes.
  std::optional<int64_t> samples = std::nullopt;
  /// The first samples in file order instead, with a note where classes are missing among them.
  bool is_sequential = false;
  uint64_t split_seed = 0;
  BatchNorm::Statistics statistics = BatchNorm::Statistics::kRunning;
  /// Samples of a chunk: at most. With batch statistics: exactly, but for the last one.
  int64_t chunk = 128;
  /// For activations, and for Lanczos's vectors.
  int64_t memory_bytes = int64_t{1} << 30;
  int64_t eigenvalues = 1;
  int64_t max_products = 30;
  double eigenvalue_tolerance = 0.01;
  int64_t trace_draws = 10;
  /// Variance of each weight's perturbation in S_sigma.
  double sigma = 1e-4;
  /// Step length in S_phi.
  double eta = 0.1;
  int64_t sharpness_draws = 10;
  /// Unset: the least local ratio.
  std::optional<double> pl_constant = std::nullopt;
  uint64_t seed = 0;
  /// How the weights are trained, or why that is not known.
  std::optional<ImplicitRegularization> training = std::nullopt;
  std::string why_no_training = "nothing says how the weights are trained";
  /// With whom the samples are shared out: all ranks measure the same, and the bits are those of one process.
  /// Null: nobody. Outlives the measurer.
  Group* group = nullptr;
};

/// What a group of quantities takes that options can make impossible.
struct MetricNeeds {
  /// Sample gradient norms with the statistics of the options.
  bool norms = false;
  /// The Hessian's eigenvalues.
  bool eigenvalues = false;
};

/// `done` and `total` count samples that pass; `label` says what for.
using MeasureProgress = std::function<void(double done, double total, const std::string& label)>;

/// What the groups of quantities are computed from. Parts that several of them need are computed once.
class Measurer {
 public:
  static constexpr int64_t kCurvatureSamples = 2000;

  /// What is measured; all of it outlives the measurer.
  struct Subject {
    const Model& model;
    FlatParameters& parameters;
    const ImageView& train;
    const ImageView& test;
    const Normalization& normalization;
    torch::Device device;
  };

  /// An Error when a weight is not finite.
  Measurer(Subject subject, MeasureOptions options, MeasureProgress progress);

  const MeasureOptions& options() const { return options_; }
  int64_t train_samples() const { return subject_.train.size(); }
  /// By which statistics BatchNorm normalises in gradient norms: "eval" or "batch".
  std::string statistics_name() const {
    return options_.statistics == BatchNorm::Statistics::kBatch ? "batch" : "eval";
  }

  /// An Error for what these options do not allow.
  void require_possible(const MetricNeeds& needs) const;

  /// How many samples a group measures on: all training samples, or those that many passes allow.
  int64_t gradient_samples() const;
  int64_t curvature_samples() const;

  /// F over so many samples. Announces how many samples will pass in all, for the progress.
  ObjectiveFunction objective(int64_t samples, double expected_passes, const std::string& label);

  /// Over so many samples, with the statistics of the options or with others.
  const SampleGradientNorms& norms(int64_t samples) { return norms(samples, options_.statistics); }
  const SampleGradientNorms& norms(int64_t samples, BatchNorm::Statistics statistics);
  /// Those with the options' statistics if they have been measured, else null.
  const SampleGradientNorms* known_norms(int64_t samples) const;
  /// Places in the files of the training data of so many samples, in the order in which they are measured.
  std::vector<int64_t> records(int64_t samples) { return choose_view(samples).indices; }
  /// The Hessian's eigenvalues over so many samples.
  const EigenvalueEstimate& eigenvalues(int64_t samples);
  /// An Error that names the weights when outputs of the network are not finite: those on as many samples as
  /// curvature takes, and all that were evaluated so far.
  void require_finite_outputs(const std::string& weights);
  const Evaluation& train_evaluation();
  const Evaluation& test_evaluation();
  /// Takes what is known already as the test evaluation of these weights.
  void set_test_evaluation(const Evaluation& known) { test_ = known; }

  /// What was noticed on the way.
  std::vector<std::string> notes;

 private:
  ImageView choose_view(int64_t samples);
  Samples choose(int64_t samples);
  int64_t chunk_for(double activations) const;
  void require_whole_batches() const;
  /// Products for which there is memory, at most max_products.
  int64_t affordable_products() const;
  Evaluation evaluate_on(const Samples& samples, const std::string& label) const;

  Subject subject_;
  MeasureOptions options_;
  MeasureProgress progress_;
  double activation_bytes_ = 0;
  std::map<std::pair<int64_t, BatchNorm::Statistics>, SampleGradientNorms> norms_;
  std::map<int64_t, EigenvalueEstimate> eigenvalues_;
  std::optional<Evaluation> some_;
  std::optional<Evaluation> train_;
  std::optional<Evaluation> test_;
};

}  // namespace batchplus
