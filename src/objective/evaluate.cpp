#include "objective/evaluate.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "objective/loss.h"

namespace batchplus {
namespace {

constexpr int64_t kEvaluationBatch = 256;

/// Calls visit(logits [count,classes], labels [count]) for all samples, in order.
template <class Visit>
void for_each_batch(const Model& model, const Samples& samples, const Visit& visit) {
  const torch::NoGradGuard no_grad;
  const bool was_training = model.module->is_training();
  model.module->eval();
  for (int64_t begin = 0; begin < samples.size; begin += kEvaluationBatch) {
    const Batch batch = samples.batch(begin, std::min(kEvaluationBatch, samples.size - begin));
    visit(model.forward(batch.images), batch.labels);
  }
  model.module->train(was_training);
}

/// Adds batches up.
class Tally {
 public:
  explicit Tally(Kernels kernels) : kernels_(kernels) {}

  /// Returns the predictions: [count].
  torch::Tensor add(const torch::Tensor& logits, const torch::Tensor& labels) {
    const auto count = static_cast<double>(labels.size(0));
    const torch::Tensor predictions = logits.argmax(1);
    samples_ += labels.size(0);
    loss_sum_ += mean_cross_entropy(logits, {labels}, kernels_).item<double>() * count;
    correct_ += predictions.eq(labels).sum().item<int64_t>();
    return predictions;
  }

  Evaluation result() const {
    const auto samples = static_cast<double>(samples_);
    return {samples_, loss_sum_ / samples, 100.0 * static_cast<double>(correct_) / samples};
  }

 private:
  Kernels kernels_;
  int64_t samples_ = 0;
  double loss_sum_ = 0;
  int64_t correct_ = 0;
};

}  // namespace

Evaluation evaluate(const Model& model, const Samples& samples) {
  Tally tally(kernels_of(model));
  for_each_batch(model, samples, [&](const torch::Tensor& logits, const torch::Tensor& labels) {
    tally.add(logits, labels);
  });
  return tally.result();
}

DetailedEvaluation evaluate_in_detail(const Model& model, const Samples& samples) {
  DetailedEvaluation detailed;
  Tally tally(kernels_of(model));
  int64_t among_five = 0;
  torch::Tensor confusion;
  for_each_batch(model, samples, [&](const torch::Tensor& logits, const torch::Tensor& labels) {
    const torch::Tensor predictions = tally.add(logits, labels);
    const int64_t classes = logits.size(1);
    const torch::Tensor five = std::get<1>(logits.topk(std::min<int64_t>(5, classes), 1));
    among_five += five.eq(labels.unsqueeze(1)).sum().item<int64_t>();
    const torch::Tensor counts = at::bincount((labels * classes + predictions).cpu(), {}, classes * classes);
    confusion = confusion.defined() ? confusion + counts : counts;
  });
  detailed.overall = tally.result();
  detailed.top5_accuracy =
      100.0 * static_cast<double>(among_five) / static_cast<double>(detailed.overall.samples);
  const auto* counts = confusion.data_ptr<int64_t>();
  detailed.confusion.assign(counts, counts + confusion.numel());
  return detailed;
}

}  // namespace batchplus
