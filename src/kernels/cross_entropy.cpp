#include "kernels/cross_entropy.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <vector>

#include "kernels/portable_math.h"
#include "kernels/sample_share.h"
#include "util/error.h"

namespace batchplus::kernels {
namespace {

/// Of sample n; its gradient is divided by `divisor`.
double cross_entropy(int64_t divisor, int64_t classes, const float* z, const Targets& targets, int64_t n,
                     double* exponentials, float* gradient) {
  const int64_t label = targets.labels[n];
  const int64_t partner = targets.partners != nullptr ? targets.partners[n] : label;
  for (const int64_t each : {label, partner})
    BATCHPLUS_CHECK(each >= 0 && each < classes, "a label is one of the classes");
  const double largest = *std::max_element(z, z + classes);
  const double common = targets.smoothing / static_cast<double>(classes);
  const double certain = 1 - targets.smoothing;
  const double of_partner = partner != label ? 1 - targets.share : 0;
  const double of_label = partner != label ? targets.share : 1;
  double sum = 0;
  for (int64_t k = 0; k < classes; ++k) {
    exponentials[k] = portable::exp(static_cast<double>(z[k]) - largest);
    sum += exponentials[k];
  }
  if (gradient != nullptr) {
    for (int64_t k = 0; k < classes; ++k) {
      const double probability = exponentials[k] / sum;
      const double target = common + certain * (k == label ? of_label : k == partner ? of_partner : 0);
      gradient[k] = static_cast<float>((probability - target) / static_cast<double>(divisor));
    }
  }
  double expected = of_label * (static_cast<double>(z[label]) - largest);
  if (partner != label) expected += of_partner * (static_cast<double>(z[partner]) - largest);
  if (targets.smoothing > 0) {
    double of_all = 0;
    for (int64_t k = 0; k < classes; ++k) of_all += static_cast<double>(z[k]) - largest;
    expected = certain * expected + common * of_all;
  }
  return portable::log(sum) - expected;
}

/// Of each sample; gradients are divided by `divisor`.
template <class Loss>
void compute_losses(int64_t samples, int64_t classes, const float* logits, const Targets& targets,
                    int64_t divisor, Loss* losses, float* gradient) {
  constexpr int64_t kExponentials = 1024;  // worth a thread
  at::parallel_for(0, samples, 1 + kExponentials / classes, [&](int64_t begin, int64_t end) {
    std::vector<double> exponentials(static_cast<size_t>(classes));
    for (int64_t n = begin; n < end; ++n) {
      float* own = gradient != nullptr ? gradient + n * classes : nullptr;
      losses[n] = static_cast<Loss>(
          cross_entropy(divisor, classes, logits + n * classes, targets, n, exponentials.data(), own));
    }
  });
}

}  // namespace

void cross_entropies(int64_t samples, int64_t classes, const float* logits, const int64_t* labels,
                     float* losses, float* gradient) {
  compute_losses(samples, classes, logits, {.labels = labels}, /*divisor=*/1, losses, gradient);
}

void cross_entropy_tangents(int64_t samples, int64_t classes, const float* gradient, const int64_t* labels,
                            const float* logits_tangent, float* tangents, float* second) {
  for (int64_t n = 0; n < samples; ++n) {
    const float* g = gradient + n * classes;
    const float* t = logits_tangent + n * classes;
    double along = 0;
    for (int64_t k = 0; k < classes; ++k) along += static_cast<double>(g[k]) * static_cast<double>(t[k]);
    tangents[n] = static_cast<float>(along);
    // g is p with one taken from the label's.
    const double mean = along + static_cast<double>(t[labels[n]]);
    for (int64_t k = 0; k < classes; ++k) {
      const double probability = static_cast<double>(g[k]) + (k == labels[n] ? 1 : 0);
      second[n * classes + k] = static_cast<float>(probability * (static_cast<double>(t[k]) - mean));
    }
  }
}

double mean_cross_entropy(int64_t samples, int64_t classes, const float* logits, const Targets& targets,
                          float* gradient) {
  SampleShare* share = SampleShare::current();
  const int64_t whole = whole_samples(samples);
  std::vector<double> losses(static_cast<size_t>(whole));
  double* own = losses.data() + (share != nullptr ? share->begin(whole) : 0);
  compute_losses(samples, classes, logits, targets, whole, own, gradient);
  if (share != nullptr) share->gather(losses.data(), whole, sizeof(double));
  double sum = 0;
  for (const double loss : losses) sum += loss;
  return sum / static_cast<double>(whole);
}

}  // namespace batchplus::kernels
