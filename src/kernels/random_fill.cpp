#include "kernels/random_fill.h"

#include <algorithm>
#include <cmath>

#include "kernels/portable_math.h"
#include "util/error.h"

namespace batchplus::kernels {
namespace {

constexpr int64_t kBlock = 16;

void fill_block(float* values, double deviation) {
  for (int64_t j = 0; j < kBlock / 2; ++j) {
    const double radius = std::sqrt(-2 * portable::log(1 - static_cast<double>(values[j])));
    const auto [sine, cosine] = portable::sine_cosine_of_turn(static_cast<double>(values[j + kBlock / 2]));
    values[j] = static_cast<float>(radius * cosine * deviation);
    values[j + kBlock / 2] = static_cast<float>(radius * sine * deviation);
  }
}

}  // namespace

void scale_uniform(float* values, int64_t size, float from, float to) {
  for (int64_t i = 0; i < size; ++i) values[i] = std::fma(values[i], to - from, from);
}

void uniform_to_normal(float* values, int64_t size, const float* last, double deviation) {
  BATCHPLUS_CHECK(size >= kBlock, "the last block is whole");
  for (int64_t i = 0; i + kBlock <= size; i += kBlock) fill_block(values + i, deviation);
  if (size % kBlock == 0) return;
  float* tail = values + size - kBlock;
  std::copy_n(last, kBlock, tail);
  fill_block(tail, deviation);
}

}  // namespace batchplus::kernels
