#pragma once

#include <ATen/core/PhiloxRNGEngine.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace batchplus {

/// What a stream is for. The numbers are part of a run's identity: never reuse or renumber one.
enum class RandomPurpose : uint8_t {
  kOrder = 1,
  kAugmentation = 2,
  kDropout = 3,
  kSplit = 4,
  kSyntheticData = 5,
  kMeasurement = 6,
  kCutout = 7,
  kMixup = 8,
};

/// A counter-based random stream (Philox 4x32-10; Salmon et al. 2011), keyed by (seed, purpose, epoch,
/// index). Two streams with different keys are independent, and a stream depends on its key alone: whatever
/// was drawn from others, in whatever order and on whatever thread, leaves it unchanged.
class RandomStream {
 public:
  RandomStream(uint64_t seed, RandomPurpose purpose, uint64_t epoch = 0, uint64_t index = 0);

  uint32_t next_u32() { return engine_(); }
  uint64_t next_u64();
  /// Uniform in [0, bound), without bias.
  uint32_t next_below(uint32_t bound);
  /// Uniform in [0, 1), with 24 random bits.
  float next_uniform() { return static_cast<float>(next_u32() >> 8) * 0x1p-24F; }

 private:
  at::philox_engine engine_;
};

/// 0 .. n-1 in random order.
std::vector<int64_t> random_permutation(int64_t n, RandomStream stream);

/// `count` different numbers of 0 .. n-1 in random order.
std::vector<int64_t> random_subset(int64_t n, int64_t count, RandomStream stream);

}  // namespace batchplus
