#pragma once

#include <cstdint>

namespace batchplus::kernels {

/// Which bits own kernels give. It is part of a run's identity (the key kernels_revision): whoever changes
/// the bits raises it, writes tests/fixtures/golden_weights.json again and adds a line to CHANGELOG.md.
///   1  sums by threads
///   2  the same bits for any number of threads and with AVX2 and AVX-512
inline constexpr int64_t kRevision = 2;

}  // namespace batchplus::kernels
