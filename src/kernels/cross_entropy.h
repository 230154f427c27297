#pragma once

#include <cstdint>

namespace batchplus::kernels {

/// The mean over samples of log(sum_k exp(z_k)) - z_label for logits z: [samples, classes]. `gradient` gets
/// its gradient with respect to the logits, unless null. In double, sample by sample: the same bits on every
/// processor.
double mean_cross_entropy(int64_t samples, int64_t classes, const float* logits, const int64_t* labels,
                          float* gradient);

}  // namespace batchplus::kernels
