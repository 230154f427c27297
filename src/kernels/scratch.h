#pragma once

#include <cstddef>
#include <cstdint>

namespace batchplus::kernels {

/// Memory of a thread that is kept between uses: it grows to the largest request and is never zeroed. Each
/// Scratch object is one region; a thread that nests two uses needs two of them.
class Scratch {
 public:
  Scratch() = default;
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  /// At least `count` floats on a 64-byte boundary, with arbitrary values.
  float* floats(int64_t count);

 private:
  float* data_ = nullptr;
  size_t bytes_ = 0;
};

/// n rounded up to a multiple of `step`.
constexpr int64_t round_up(int64_t n, int64_t step) {
  return (n + step - 1) / step * step;
}

}  // namespace batchplus::kernels
