#include "train/evaluate.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <span>

#include "objective/loss.h"

namespace batchplus {
namespace {

constexpr int64_t kEvaluationBatch = 256;

/// Calls visit(logits [count,classes], labels [count]) for all samples, in order.
template <class Visit>
void for_each_batch(const Model& model, const ImageView& view, const Normalization& normalization,
                    torch::Device device, const Visit& visit) {
  const torch::NoGradGuard no_grad;
  const bool was_training = model.module->is_training();
  model.module->eval();
  const ImageTransform transform(normalization, /*is_augmenting=*/false);
  const auto shape = view.set.images.sizes();
  for (int64_t begin = 0; begin < view.size(); begin += kEvaluationBatch) {
    const int64_t count = std::min(kEvaluationBatch, view.size() - begin);
    const std::span<const int64_t> indices(view.indices.data() + begin, static_cast<size_t>(count));
    const torch::Tensor images = torch::empty({count, shape[1], shape[2], shape[3]},
                                              torch::TensorOptions().memory_format(model.memory_format));
    transform.apply(view.set, indices, /*seed=*/0, /*epoch=*/0, images);
    const torch::Tensor labels = torch::empty({count}, torch::kInt64);
    for (int64_t i = 0; i < count; ++i) {
      labels.data_ptr<int64_t>()[i] = view.set.labels.data_ptr<int64_t>()[indices[i]];
    }
    visit(model.forward(images.to(device)), labels.to(device));
  }
  model.module->train(was_training);
}

/// Adds batches up.
class Tally {
 public:
  /// Returns the predictions: [count].
  torch::Tensor add(const torch::Tensor& logits, const torch::Tensor& labels) {
    const auto count = static_cast<double>(labels.size(0));
    const torch::Tensor predictions = logits.argmax(1);
    samples_ += labels.size(0);
    loss_sum_ += mean_cross_entropy(logits, labels).item<double>() * count;
    correct_ += predictions.eq(labels).sum().item<int64_t>();
    return predictions;
  }

  Evaluation result() const {
    const auto samples = static_cast<double>(samples_);
    return {samples_, loss_sum_ / samples, 100.0 * static_cast<double>(correct_) / samples};
  }

 private:
  int64_t samples_ = 0;
  double loss_sum_ = 0;
  int64_t correct_ = 0;
};

}  // namespace

Evaluation evaluate(const Model& model, const ImageView& view, const Normalization& normalization,
                    torch::Device device) {
  Tally tally;
  for_each_batch(
      model, view, normalization, device,
      [&](const torch::Tensor& logits, const torch::Tensor& labels) { tally.add(logits, labels); });
  return tally.result();
}

DetailedEvaluation evaluate_in_detail(const Model& model, const ImageView& view,
                                      const Normalization& normalization, torch::Device device) {
  DetailedEvaluation detailed;
  Tally tally;
  int64_t among_five = 0;
  torch::Tensor confusion;
  for_each_batch(model, view, normalization, device,
                 [&](const torch::Tensor& logits, const torch::Tensor& labels) {
                   const torch::Tensor predictions = tally.add(logits, labels);
                   const int64_t classes = logits.size(1);
                   const torch::Tensor five = std::get<1>(logits.topk(std::min<int64_t>(5, classes), 1));
                   among_five += five.eq(labels.unsqueeze(1)).sum().item<int64_t>();
                   const torch::Tensor counts =
                       at::bincount((labels * classes + predictions).cpu(), {}, classes * classes);
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
