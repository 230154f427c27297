#pragma once

#include "kernels/sample_gradients.h"

namespace batchplus {

/// How the norms of a convolution's sample gradients are computed.
enum class ConvolutionPlan {
  /// Forming each sample's weight gradient, which gives their sum too.
  kForm,
  /// The same by Winograd's transforms.
  kWinograd,
  /// From Gram matrices over pixels, besides the usual weight gradient.
  kGram,
};

/// The cheapest one for a layer; without Winograd's transforms unless allowed.
ConvolutionPlan plan_convolution(const kernels::ConvolutionShape& shape, bool may_use_winograd);

}  // namespace batchplus
