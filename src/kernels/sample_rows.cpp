#include "kernels/sample_rows.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "kernels/for_this_cpu.h"

namespace batchplus::kernels {
namespace {

/// Sums beside each other, so that no addition waits for the one before.
constexpr int64_t kSums = 16;

[[gnu::always_inline]] inline double square_row(const float* __restrict row, int64_t columns) {
  double sums[kSums] = {};
  int64_t c = 0;
  for (; c + kSums <= columns; c += kSums) {
    for (int64_t i = 0; i < kSums; ++i) {
      const auto value = static_cast<double>(row[c + i]);
      sums[i] += value * value;
    }
  }
  for (; c < columns; ++c) sums[0] += static_cast<double>(row[c]) * static_cast<double>(row[c]);
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

}  // namespace

void sum_rows(int64_t samples, int64_t columns, const float* rows, float* sums) {
  constexpr int64_t kColumns = 64;
  for (int64_t first = 0; first < columns; first += kColumns) {
    const int64_t count = std::min(kColumns, columns - first);
    double totals[kColumns] = {};
    for (int64_t n = 0; n < samples; ++n) {
      for (int64_t c = 0; c < count; ++c) totals[c] += static_cast<double>(rows[n * columns + first + c]);
    }
    for (int64_t c = 0; c < count; ++c) sums[first + c] = static_cast<float>(totals[c]);
  }
}

void square_rows(int64_t samples, int64_t columns, const float* rows, double* squares) {
  constexpr int64_t kGrain = 16384;
  at::parallel_for(0, samples, 1 + kGrain / columns, [&](int64_t begin, int64_t end) {
    for_this_cpu([&]() __attribute__((always_inline)) {
      for (int64_t n = begin; n < end; ++n) squares[n] = square_row(rows + n * columns, columns);
    });
  });
}

}  // namespace batchplus::kernels
