#include "kernels/cross_entropy.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <vector>

#include "kernels/portable_math.h"
#include "util/error.h"

namespace batchplus::kernels {
namespace {

/// Of one sample; its gradient is divided by `samples`.
double cross_entropy(int64_t samples, int64_t classes, const float* z, int64_t label, double smoothing,
                     double* exponentials, float* gradient) {
  BATCHPLUS_CHECK(label >= 0 && label < classes, "a label is one of the classes");
  const double largest = *std::max_element(z, z + classes);
  const double common = smoothing / static_cast<double>(classes);
  double sum = 0;
  for (int64_t k = 0; k < classes; ++k) {
    exponentials[k] = portable::exp(static_cast<double>(z[k]) - largest);
    sum += exponentials[k];
  }
  if (gradient != nullptr) {
    for (int64_t k = 0; k < classes; ++k) {
      const double probability = exponentials[k] / sum;
      const double target = common + (k == label ? 1 - smoothing : 0);
      gradient[k] = static_cast<float>((probability - target) / static_cast<double>(samples));
    }
  }
  const double of_label = static_cast<double>(z[label]) - largest;
  if (smoothing == 0) return portable::log(sum) - of_label;
  double of_all = 0;
  for (int64_t k = 0; k < classes; ++k) of_all += static_cast<double>(z[k]) - largest;
  return portable::log(sum) - ((1 - smoothing) * of_label + common * of_all);
}

}  // namespace

double mean_cross_entropy(int64_t samples, int64_t classes, const float* logits, const Targets& targets,
                          float* gradient) {
  constexpr int64_t kExponentials = 1024;  // worth a thread
  std::vector<double> losses(static_cast<size_t>(samples));
  at::parallel_for(0, samples, 1 + kExponentials / classes, [&](int64_t begin, int64_t end) {
    std::vector<double> exponentials(static_cast<size_t>(classes));
    for (int64_t n = begin; n < end; ++n) {
      float* own = gradient != nullptr ? gradient + n * classes : nullptr;
      losses[static_cast<size_t>(n)] =
          cross_entropy(samples, classes, logits + n * classes, targets.labels[n], targets.smoothing,
                        exponentials.data(), own);
    }
  });
  double sum = 0;
  for (const double loss : losses) sum += loss;
  return sum / static_cast<double>(samples);
}

}  // namespace batchplus::kernels
