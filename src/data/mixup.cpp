#include "data/mixup.h"

#include <cmath>

#include "kernels/for_this_cpu.h"
#include "kernels/portable_math.h"
#include "util/error.h"

namespace batchplus {
namespace {

namespace portable = kernels::portable;

/// In (0, 1], with 53 random bits.
double draw_uniform(RandomStream& stream) {
  return (static_cast<double>(stream.next_u64() >> 11) + 1) * 0x1p-53;
}

/// By Box and Muller.
double draw_normal(RandomStream& stream) {
  const double radius = std::sqrt(-2 * portable::log(draw_uniform(stream)));
  return radius * portable::sine_cosine_of_turn(draw_uniform(stream)).cosine;
}

/// The logarithm of a number of the gamma distribution with this shape. Marsaglia and Tsang 2000 for the
/// shape plus one; then times u^(1 / shape), whose logarithm does not underflow where the number would.
double draw_log_gamma(double shape, RandomStream& stream) {
  const double d = shape + 1 - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = draw_normal(stream);
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    const double log_v = portable::log(v);
    if (portable::log(draw_uniform(stream)) >= 0.5 * x * x + d - d * v + d * log_v) continue;
    return portable::log(d) + log_v + portable::log(draw_uniform(stream)) / shape;
  }
}

}  // namespace

double draw_beta(double alpha, RandomStream& stream) {
  const double first = draw_log_gamma(alpha, stream);
  const double second = draw_log_gamma(alpha, stream);
  return 1 / (1 + portable::exp(second - first));
}

Mixing draw_mixing(double alpha, uint64_t seed, uint64_t epoch, uint64_t place, int64_t samples) {
  RandomStream stream(seed, RandomPurpose::kMixup, epoch, place);
  const double share = draw_beta(alpha, stream);
  return {.share = share, .partners = random_permutation(samples, stream)};
}

void mix(const Mixing& mixing, const torch::Tensor& images) {
  const int64_t size = images.size(0) > 0 ? images.numel() / images.size(0) : 0;
  BATCHPLUS_CHECK(images.is_contiguous() || images.is_contiguous(at::MemoryFormat::ChannelsLast),
                  "the numbers of a sample lie side by side");
  const torch::Tensor originals = images.clone();
  const auto share = static_cast<float>(mixing.share);
  const auto rest = static_cast<float>(1 - mixing.share);
  for (int64_t i = 0; i < images.size(0); ++i) {
    const float* __restrict own = originals.data_ptr<float>() + i * size;
    const float* __restrict other = originals.data_ptr<float>() + mixing.partners[i] * size;
    float* __restrict out = images.data_ptr<float>() + i * size;
    kernels::for_this_cpu([&]() __attribute__((always_inline)) {
      for (int64_t j = 0; j < size; ++j) out[j] = share * own[j] + rest * other[j];
    });
  }
}

}  // namespace batchplus
