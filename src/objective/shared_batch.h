#pragma once

#include <memory>
#include <optional>

#include "core/flat_parameters.h"
#include "core/torch.h"
#include "data/batch_source.h"
#include "group/group.h"
#include "kernels/sample_share.h"
#include "objective/gradient_sum.h"

namespace batchplus {

/// How a batch is shared out among processes. Every rank has the whole batch, computes with some of its
/// samples, and ends with the gradient of all of them.
struct Sharing {
  /// Null: this process is by itself.
  Group* group = nullptr;
  kernels::SampleShare::Sums sums = kernels::SampleShare::Sums::kExact;
  /// Those of each rank's own samples need Sums::kLater.
  kernels::SampleShare::Moments moments = kernels::SampleShare::Moments::kOfBatch;
  /// Gradients of parameters with so many elements are added up during the backward pass, where the group
  /// can; smaller ones after it.
  int64_t early_elements = GradientSum::kEarlyElements;
};

/// This rank's samples of a batch: all of them when there are too few to share out.
class SharedBatch {
 public:
  /// Until the end of the scope kernels on this thread know that they compute with a share.
  SharedBatch(const Batch& batch, const Sharing& sharing);
  ~SharedBatch();
  SharedBatch(const SharedBatch&) = delete;
  SharedBatch& operator=(const SharedBatch&) = delete;

  const Batch& own() const { return own_; }
  /// By which the gradient of this rank's samples becomes that of the batch; null where it will be already.
  std::unique_ptr<GradientSum> sum(const FlatParameters& parameters, const torch::Tensor& gradient) const;
  /// Where ranks have moments of their own, the module's running ones become those of the first rank.
  void share_statistics(const torch::nn::Module& module) const;

 private:
  class Share;

  Sharing sharing_;
  std::unique_ptr<Share> share_;
  std::optional<kernels::SampleShare::Scope> scope_;
  Batch own_;
};

}  // namespace batchplus
