#pragma once

#include <cstdint>

/// Sums over rows: [samples, columns] that have one row a sample, in double. The same bits on every processor
/// and for any number of threads.
namespace batchplus::kernels {

/// sums[c] = sum_n rows[n][c].
void sum_rows(int64_t samples, int64_t columns, const float* rows, float* sums);

/// squares[n] = sum_c rows[n][c]^2.
void square_rows(int64_t samples, int64_t columns, const float* rows, double* squares);

}  // namespace batchplus::kernels
