#include "core/random_stream.h"

#include <numeric>
#include <unordered_map>

#include "util/error.h"

namespace batchplus {
namespace {

constexpr uint64_t kEpochLimit = uint64_t{1} << 24;
constexpr uint64_t kIndexLimit = uint64_t{1} << 32;

/// The upper half of Philox's counter; the lower half counts within the stream.
uint64_t stream_number(RandomPurpose purpose, uint64_t epoch, uint64_t index) {
  BATCHPLUS_CHECK(epoch < kEpochLimit, "the key has 24 bits for the epoch");
  BATCHPLUS_CHECK(index < kIndexLimit, "the key has 32 bits for the index");
  return static_cast<uint64_t>(purpose) << 56 | epoch << 32 | index;
}

}  // namespace

RandomStream::RandomStream(uint64_t seed, RandomPurpose purpose, uint64_t epoch, uint64_t index)
    : engine_(seed, stream_number(purpose, epoch, index)) {}

uint64_t RandomStream::next_u64() {
  const uint64_t high = next_u32();
  return high << 32 | next_u32();
}

uint32_t RandomStream::next_below(uint32_t bound) {
  BATCHPLUS_CHECK(bound > 0, "there is no number below 0");
  // Lemire 2019: the product's upper half is uniform once the few biased lower halves are rejected.
  const uint32_t biased = static_cast<uint32_t>(-bound) % bound;
  while (true) {
    const uint64_t product = uint64_t{next_u32()} * bound;
    if (static_cast<uint32_t>(product) >= biased) return static_cast<uint32_t>(product >> 32);
  }
}

std::vector<int64_t> random_permutation(int64_t n, RandomStream stream) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), int64_t{0});
  for (int64_t left = n; left > 1; --left) {
    std::swap(order[left - 1], order[stream.next_below(static_cast<uint32_t>(left))]);
  }
  return order;
}

std::vector<int64_t> random_subset(int64_t n, int64_t count, RandomStream stream) {
  BATCHPLUS_CHECK(count <= n, "a subset is no larger than its set");
  // A Fisher-Yates shuffle of 0 .. n-1 that stores only the entries it moved.
  std::unordered_map<int64_t, int64_t> moved;
  const auto value_at = [&moved](int64_t position) {
    const auto entry = moved.find(position);
    return entry == moved.end() ? position : entry->second;
  };
  std::vector<int64_t> subset;
  subset.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t j = i + stream.next_below(static_cast<uint32_t>(n - i));
    subset.push_back(value_at(j));
    moved[j] = value_at(i);
  }
  return subset;
}

}  // namespace batchplus
