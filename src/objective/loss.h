#pragma once

#include "core/torch.h"

namespace batchplus {

/// Softmax cross-entropy, the mean over the batch. logits: [N,classes], labels: [N].
torch::Tensor mean_cross_entropy(const torch::Tensor& logits, const torch::Tensor& labels);

}  // namespace batchplus
