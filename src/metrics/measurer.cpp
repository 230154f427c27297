#include "metrics/measurer.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>

#include "networks/measure.h"
#include "util/error.h"
#include "util/text.h"

namespace batchplus {
namespace {

/// What passes keep for each sample, in multiples of the activations that a training step keeps: measured as
/// peak memory on resnet32 and vgg11 (docs/metrics.md).
constexpr double kNormsActivations = 2;
constexpr double kProductActivations = 5;

}  // namespace

Measurer::Measurer(Subject subject, MeasureOptions options, MeasureProgress progress)
    : subject_(subject), options_(std::move(options)), progress_(std::move(progress)) {
  if (subject_.train.size() == 0) throw Error("there are no training samples to measure on");
  if (options_.samples && *options_.samples > subject_.train.size()) {
    throw Error("more samples than there are",
                {"metrics_samples", std::to_string(*options_.samples),
                 fmt::format("there are {} training samples; 0 takes them all", subject_.train.size())});
  }
  for (const auto& slice : subject_.parameters.slices()) {
    if (slice.parameter.isfinite().all().item<bool>()) continue;
    throw Error("a weight is infinite or NaN", {slice.name, "", "was this run diverged?"});
  }
  const auto shape = subject_.train.set.images.sizes();
  constexpr int64_t kFew = 2;
  // An upper bound for both: own kernels keep less.
  const KernelsInScope by_aten(*subject_.model.module, Kernels::kAten);
  activation_bytes_ =
      static_cast<double>(measure_activation_bytes(subject_.model, kFew, shape[1], shape[2])) / kFew;
  if (options_.group != nullptr) options_.group->broadcast(&activation_bytes_, sizeof activation_bytes_);
}

int64_t Measurer::gradient_samples() const {
  const int64_t wanted = options_.samples.value_or(0);
  return wanted > 0 ? wanted : train_samples();
}

int64_t Measurer::curvature_samples() const {
  return options_.samples ? gradient_samples() : std::min(train_samples(), kCurvatureSamples);
}

ImageView Measurer::choose_view(int64_t samples) {
  ImageView view = subject_.train;
  if (samples < view.size()) {
    if (options_.is_sequential) {
      view.indices.resize(static_cast<size_t>(samples));
      const std::string note = note_on_file_order(
          view, subject_.train, fmt::format("the {} training samples that are measured have", samples));
      const bool is_new = std::find(notes.begin(), notes.end(), note) == notes.end();
      if (!note.empty() && is_new) notes.push_back(note);
    } else {
      view = choose_balanced(view, samples, options_.split_seed);
    }
  }
  return view;
}

Samples Measurer::choose(int64_t samples) {
  return samples_of(choose_view(samples), subject_.normalization, subject_.device,
                    subject_.model.memory_format);
}

int64_t Measurer::chunk_for(double activations) const {
  const double bytes = activations * activation_bytes_;
  const auto fitting = static_cast<int64_t>(static_cast<double>(options_.memory_bytes) / bytes);
  return std::clamp<int64_t>(fitting, 1, options_.chunk);
}

ObjectiveFunction Measurer::objective(int64_t samples, double expected_passes, const std::string& label) {
  const double total = expected_passes * static_cast<double>(samples);
  const auto done = std::make_shared<double>(0);
  const auto on_samples = [=, progress = progress_](int64_t count) {
    *done += static_cast<double>(count);
    if (progress) progress(std::min(*done, total), total, label);
  };
  return ObjectiveFunction(subject_.model, subject_.parameters, choose(samples),
                           {.loss = cross_entropies_by(kernels_of(subject_.model)),
                            .chunk = chunk_for(kProductActivations),
                            .on_samples = on_samples,
                            .group = options_.group});
}

void Measurer::require_whole_batches() const {
  const int64_t chunk = chunk_for(kNormsActivations);
  if (options_.statistics == BatchNorm::Statistics::kRunning || chunk == options_.chunk) return;
  const double bytes = kNormsActivations * activation_bytes_ * static_cast<double>(options_.chunk);
  throw Error("batch statistics need the whole batch in memory",
              {"metrics_memory", fmt::format("{} samples fit", chunk),
               fmt::format("{} samples need about {}", options_.chunk, format_bytes(bytes))});
}

const SampleGradientNorms* Measurer::known_norms(int64_t samples) const {
  const auto known = norms_.find({samples, options_.statistics});
  return known == norms_.end() ? nullptr : &known->second;
}

const SampleGradientNorms& Measurer::norms(int64_t samples, BatchNorm::Statistics statistics) {
  const std::pair key(samples, statistics);
  if (const auto known = norms_.find(key); known != norms_.end()) return known->second;
  if (statistics == BatchNorm::Statistics::kBatch) require_whole_batches();
  double done = 0;
  const auto on_samples = [&](int64_t count) {
    done += static_cast<double>(count);
    if (progress_) progress_(done, static_cast<double>(samples), "gradient norms");
  };
  const ObjectiveFunction objective(
      subject_.model, subject_.parameters, choose(samples),
      {.chunk = chunk_for(kNormsActivations), .on_samples = on_samples, .group = options_.group});
  auto measured = measure_sample_gradients(objective, {.statistics = statistics});
  notes.insert(notes.end(), measured.notes.begin(), measured.notes.end());
  if (samples == 1)
    notes.emplace_back("the gradient of one sample has no variance: what comes of it is zero");
  return norms_.emplace(key, std::move(measured)).first->second;
}

int64_t Measurer::affordable_products() const {
  const int64_t size = subject_.parameters.size();
  if (options_.eigenvalues > size) {
    throw Error("there are fewer eigenvalues than asked for",
                {"hessian_eigenvalues", std::to_string(options_.eigenvalues),
                 fmt::format("the network has {} parameters", size)});
  }
  if (options_.eigenvalues > options_.max_products) {
    throw Error("too few products for so many eigenvalues",
                {"hessian_products", std::to_string(options_.max_products),
                 fmt::format("at least {}, better three times as many", options_.eigenvalues)});
  }
  const auto vector_bytes = static_cast<int64_t>(subject_.parameters.values().nbytes());
  const int64_t fitting = options_.memory_bytes / vector_bytes;
  if (fitting < std::min(options_.eigenvalues + 2, options_.max_products)) {
    throw Error("Lanczos's vectors do not fit in the memory allowed",
                {"metrics_memory", format_bytes(static_cast<double>(options_.memory_bytes)),
                 fmt::format("each of at most {} products keeps {}", options_.max_products,
                             format_bytes(static_cast<double>(vector_bytes)))});
  }
  return std::min(options_.max_products, fitting);
}

void Measurer::require_possible(const MetricNeeds& needs) const {
  if (needs.eigenvalues) affordable_products();
  if (needs.norms) require_whole_batches();
}

const EigenvalueEstimate& Measurer::eigenvalues(int64_t samples) {
  if (const auto known = eigenvalues_.find(samples); known != eigenvalues_.end()) return known->second;
  const int64_t products = affordable_products();
  const ObjectiveFunction f = objective(samples, static_cast<double>(products), "eigenvalues");
  const auto estimate = largest_eigenvalues(subject_.parameters.values(),
                                            [&](const torch::Tensor& v) { return f.hessian_product(v); },
                                            {.eigenvalues = options_.eigenvalues,
                                             .max_products = products,
                                             .tolerance = options_.eigenvalue_tolerance,
                                             .seed = options_.seed,
                                             .group = options_.group});
  if (!estimate.is_converged) {
    notes.push_back(
        fmt::format("the Hessian's eigenvalues are not known to {:g} % after {} products; see their "
                    "error bounds, or raise hessian_products",
                    100 * options_.eigenvalue_tolerance, estimate.products));
  }
  return eigenvalues_.emplace(samples, estimate).first->second;
}

Evaluation Measurer::evaluate_on(const Samples& samples, const std::string& label) const {
  Samples counted = samples;
  counted.batch = [&](int64_t begin, int64_t count) {
    if (progress_) progress_(static_cast<double>(begin + count), static_cast<double>(samples.size), label);
    return samples.batch(begin, count);
  };
  return evaluate(subject_.model, counted, options_.group);
}

void Measurer::require_finite_outputs(const std::string& weights) {
  if (!some_) some_ = evaluate_on(choose(curvature_samples()), "some outputs");
  for (const auto* evaluation : {&some_, &train_, &test_}) {
    if (*evaluation) batchplus::require_finite_outputs(**evaluation, weights);
  }
  for (const auto& [key, norms] : norms_)
    batchplus::require_finite_outputs({key.first, norms.losses.mean().item<double>()}, weights);
}

const Evaluation& Measurer::train_evaluation() {
  if (!train_) train_ = evaluate_on(choose(gradient_samples()), "training loss");
  return *train_;
}

const Evaluation& Measurer::test_evaluation() {
  if (!test_) {
    test_ = evaluate_on(
        samples_of(subject_.test, subject_.normalization, subject_.device, subject_.model.memory_format),
        "test loss");
  }
  return *test_;
}

}  // namespace batchplus
