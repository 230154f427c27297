#pragma once

#include <functional>

#include "core/torch.h"
#include "networks/model.h"

namespace batchplus {

/// What the samples of a batch are meant to be taken for.
struct LossTargets {
  /// [N].
  torch::Tensor labels;
  /// [N]: other labels, of which the loss is a part; undefined: none.
  torch::Tensor partner_labels = {};
  /// The part of the labels' loss; the rest is the partners'.
  double label_share = 1;
  /// What all classes share of a label's probability, as torch.nn.CrossEntropyLoss(label_smoothing) has it.
  double smoothing = 0;
};

/// Softmax cross-entropy, the mean over the batch. logits: [N,classes]. `kernels`: those of the network's
/// layers.
torch::Tensor mean_cross_entropy(const torch::Tensor& logits, const LossTargets& targets, Kernels kernels);

/// The loss f_i of each sample: (outputs [N,...], labels [N]) to [N].
using SampleLoss = std::function<torch::Tensor(const torch::Tensor& outputs, const torch::Tensor& labels)>;

/// Softmax cross-entropy of each sample, from operations that can be differentiated twice and forwards.
torch::Tensor cross_entropies(const torch::Tensor& logits, const torch::Tensor& labels);

/// The same where it is computed by `kernels`; own ones can be differentiated twice too, and forwards once.
SampleLoss cross_entropies_by(Kernels kernels);

}  // namespace batchplus
