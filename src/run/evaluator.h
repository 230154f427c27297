#pragma once

#include "data/image_view.h"
#include "group/group.h"
#include "networks/model.h"
#include "train/callback.h"

namespace batchplus {

/// Evaluates after every so many epochs, and at the end, on the test samples and on the validation samples,
/// if there are any.
class Evaluator : public TrainCallback {
 public:
  /// All of it outlives the evaluator. `group` shares the work out; may be null.
  Evaluator(const Model& model, const DatasetViews& views, const Normalization& normalization,
            torch::Device device, int64_t every, Group* group);

  void after_epoch(const EpochEnd& end) override;
  Evaluation evaluate_on(const ImageView& view) const;

 private:
  const Model& model_;
  const DatasetViews& views_;
  const Normalization& normalization_;
  torch::Device device_;
  int64_t every_;
  Group* group_;
};

}  // namespace batchplus
