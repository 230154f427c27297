#pragma once

#include "data/image_transform.h"
#include "data/image_view.h"
#include "networks/model.h"

namespace batchplus {

struct Evaluation {
  int64_t samples = 0;
  /// Mean softmax cross-entropy, without regularisation.
  double loss = 0;
  /// Percent.
  double accuracy = 0;
};

/// Loss and accuracy in evaluation mode, without augmentation. The model's mode is as before afterwards.
Evaluation evaluate(const Model& model, const ImageView& view, const Normalization& normalization,
                    torch::Device device);

}  // namespace batchplus
