#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace batchplus {

/// Seconds on a clock that never goes back.
class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

inline std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

/// The present moment in UTC, as 2026-01-31T12:00:00Z.
std::string utc_timestamp();

}  // namespace batchplus
