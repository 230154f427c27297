#include "objective/evaluate.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "objective/loss.h"
#include "util/error.h"
#include "util/text.h"

namespace batchplus {
namespace {

constexpr int64_t kEvaluationBatch = 256;

int64_t number_of_batches(const Samples& samples) {
  return (samples.size + kEvaluationBatch - 1) / kEvaluationBatch;
}

/// Calls visit(number, logits [count,classes], labels [count]) for the batches from `first` to `last`, in
/// order.
template <class Visit>
void for_batches(const Model& model, const Samples& samples, int64_t first, int64_t last,
                 const Visit& visit) {
  const torch::NoGradGuard no_grad;
  const bool was_training = model.module->is_training();
  model.module->eval();
  for (int64_t number = first; number < last; ++number) {
    const int64_t begin = number * kEvaluationBatch;
    const Batch batch = samples.batch(begin, std::min(kEvaluationBatch, samples.size - begin));
    visit(number, model.forward(batch.images), batch.labels);
  }
  model.module->train(was_training);
}

/// What is counted of some samples.
struct Tally {
  int64_t samples = 0;
  double loss_sum = 0;
  int64_t correct = 0;

  void add(const Tally& more) {
    samples += more.samples;
    loss_sum += more.loss_sum;
    correct += more.correct;
  }
  Evaluation result() const {
    const auto count = static_cast<double>(samples);
    return {samples, loss_sum / count, 100.0 * static_cast<double>(correct) / count};
  }
};

/// Of a batch. predictions: [count].
Tally tally_of(const torch::Tensor& logits, const torch::Tensor& labels, const torch::Tensor& predictions,
               Kernels kernels) {
  const auto count = static_cast<double>(labels.size(0));
  return {labels.size(0), mean_cross_entropy(logits, {labels}, kernels).item<double>() * count,
          predictions.eq(labels).sum().item<int64_t>()};
}

}  // namespace

Evaluation evaluate(const Model& model, const Samples& samples, Group* group) {
  const int64_t batches = number_of_batches(samples);
  const int64_t first = group != nullptr ? group->share_begin(batches, group->rank()) : 0;
  const int64_t last = group != nullptr ? group->share_begin(batches, group->rank() + 1) : batches;
  std::vector<Tally> tallies(static_cast<size_t>(batches));
  for_batches(model, samples, first, last,
              [&](int64_t number, const torch::Tensor& logits, const torch::Tensor& labels) {
                tallies[static_cast<size_t>(number)] =
                    tally_of(logits, labels, logits.argmax(1), kernels_of(model));
              });
  if (group != nullptr) group->gather(tallies.data(), batches, sizeof(Tally));
  Tally total;
  for (const Tally& tally : tallies) total.add(tally);
  return total.result();
}

void require_finite_outputs(const Evaluation& evaluation, const std::string& weights) {
  if (std::isfinite(evaluation.loss)) return;
  throw Error(
      "the network's outputs are not finite",
      {weights, fmt::format("loss {} over {} samples", evaluation.loss, format_count(evaluation.samples)),
       "its weights are finite but too large: take weights from before, and check {model} and "
       "{normalize}"},
      Error::kFailure);
}

DetailedEvaluation evaluate_in_detail(const Model& model, const Samples& samples) {
  DetailedEvaluation detailed;
  Tally tally;
  int64_t among_five = 0;
  torch::Tensor confusion;
  const auto visit = [&](int64_t, const torch::Tensor& logits, const torch::Tensor& labels) {
    const torch::Tensor predictions = logits.argmax(1);
    tally.add(tally_of(logits, labels, predictions, kernels_of(model)));
    const int64_t classes = logits.size(1);
    const torch::Tensor five = std::get<1>(logits.topk(std::min<int64_t>(5, classes), 1));
    among_five += five.eq(labels.unsqueeze(1)).sum().item<int64_t>();
    const torch::Tensor counts = at::bincount((labels * classes + predictions).cpu(), {}, classes * classes);
    confusion = confusion.defined() ? confusion + counts : counts;
  };
  for_batches(model, samples, 0, number_of_batches(samples), visit);
  detailed.overall = tally.result();
  detailed.top5_accuracy =
      100.0 * static_cast<double>(among_five) / static_cast<double>(detailed.overall.samples);
  const auto* counts = confusion.data_ptr<int64_t>();
  detailed.confusion.assign(counts, counts + confusion.numel());
  return detailed;
}

}  // namespace batchplus
