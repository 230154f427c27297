#include "train/evaluate.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <span>

#include "objective/loss.h"

namespace batchplus {
namespace {

constexpr int64_t kEvaluationBatch = 256;

}  // namespace

Evaluation evaluate(const Model& model, const ImageView& view, const Normalization& normalization,
                    torch::Device device) {
  const torch::NoGradGuard no_grad;
  const bool was_training = model.module->is_training();
  model.module->eval();
  const ImageTransform transform(normalization, /*is_augmenting=*/false);
  const auto shape = view.set.images.sizes();
  double loss_sum = 0;
  int64_t correct = 0;
  for (int64_t begin = 0; begin < view.size(); begin += kEvaluationBatch) {
    const int64_t count = std::min(kEvaluationBatch, view.size() - begin);
    const std::span<const int64_t> indices(view.indices.data() + begin, static_cast<size_t>(count));
    torch::Tensor images = torch::empty({count, shape[1], shape[2], shape[3]},
                                        torch::TensorOptions().memory_format(model.memory_format));
    transform.apply(view.set, indices, /*seed=*/0, /*epoch=*/0, images);
    torch::Tensor labels = torch::empty({count}, torch::kInt64);
    for (int64_t i = 0; i < count; ++i) {
      labels.data_ptr<int64_t>()[i] = view.set.labels.data_ptr<int64_t>()[indices[i]];
    }
    labels = labels.to(device);
    const torch::Tensor logits = model.forward(images.to(device));  // [count, classes]
    loss_sum += mean_cross_entropy(logits, labels).item<double>() * static_cast<double>(count);
    correct += logits.argmax(1).eq(labels).sum().item<int64_t>();
  }
  model.module->train(was_training);
  const auto samples = static_cast<double>(view.size());
  return {view.size(), loss_sum / samples, 100.0 * static_cast<double>(correct) / samples};
}

}  // namespace batchplus
