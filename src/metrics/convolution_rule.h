#pragma once

#include "kernels/sample_gradients.h"

namespace batchplus {

/// How the norms of a convolution's sample gradients are computed.
enum class ConvolutionPlan {
  /// Forming each sample's weight gradient, which gives their sum too.
  kForm,
  /// From Gram matrices over pixels, besides the usual weight gradient.
  kGram,
};

/// The cheaper one for a layer.
ConvolutionPlan plan_convolution(const kernels::ConvolutionShape& shape);

}  // namespace batchplus
