#pragma once

#include <functional>

#include "core/torch.h"
#include "networks/model.h"

namespace batchplus {

/// Softmax cross-entropy, the mean over the batch. logits: [N,classes], labels: [N]. `kernels`: those of the
/// network's layers. `smoothing`: what all classes share of a label's probability, as
/// torch.nn.CrossEntropyLoss(label_smoothing) has it.
torch::Tensor mean_cross_entropy(const torch::Tensor& logits, const torch::Tensor& labels, Kernels kernels,
                                 double smoothing = 0);

/// The loss f_i of each sample: (outputs [N,...], labels [N]) to [N].
using SampleLoss = std::function<torch::Tensor(const torch::Tensor& outputs, const torch::Tensor& labels)>;

/// Softmax cross-entropy of each sample, from operations that can be differentiated twice and forwards.
torch::Tensor cross_entropies(const torch::Tensor& logits, const torch::Tensor& labels);

}  // namespace batchplus
