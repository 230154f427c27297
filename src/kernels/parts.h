#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace batchplus::kernels {

/// How a sum over samples is cut into parts, each of which one thread adds up. It depends on the number of
/// samples alone, and the parts' sums are added as a binary tree, so that the result is the same for any
/// number of threads.
class Parts {
 public:
  static constexpr int64_t kMost = 16;
  /// Sums that are cut at all have so many parts at least, if there are as many samples.
  static constexpr int64_t kFewest = 8;

  /// As many parts as the largest power of two that is not above `samples` and `most`.
  explicit Parts(int64_t samples, int64_t most = kMost) : Parts(samples, most, 0, 1) {}

  /// Those that fall to share `rank` of `ranks`, a power of two: a subtree. Samples are counted from the
  /// share's first one.
  Parts(int64_t samples, int64_t most, int rank, int ranks)
      : samples_(samples),
        all_(static_cast<int64_t>(
            std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(1, std::min(samples, most)))))),
        number_(all_ / ranks),
        first_(rank * number_),
        first_sample_(first_ * samples_ / all_) {}

  int64_t number() const { return number_; }
  int64_t begin(int64_t part) const { return (first_ + part) * samples_ / all_ - first_sample_; }
  int64_t end(int64_t part) const { return begin(part + 1); }

 private:
  int64_t samples_;
  /// Parts of all shares, and of this one.
  int64_t all_;
  int64_t number_;
  int64_t first_;
  int64_t first_sample_;
};

/// part(0) + ... + part(number - 1), halves first: (0 + 1) + (2 + 3) for four. `number` is a power of two.
template <class Number, class Part>
Number add_parts(int64_t number, const Part& part, int64_t first = 0) {
  if (number == 1) return part(first);
  return add_parts<Number>(number / 2, part, first) + add_parts<Number>(number / 2, part, first + number / 2);
}

}  // namespace batchplus::kernels
