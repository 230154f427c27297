#pragma once

#include <ATen/Parallel.h>

namespace batchplus::testing {

/// Computes with so many threads until the end of the scope.
class WithThreads {
 public:
  explicit WithThreads(int threads) : before_(at::get_num_threads()) { at::set_num_threads(threads); }
  ~WithThreads() { at::set_num_threads(before_); }
  WithThreads(const WithThreads&) = delete;
  WithThreads& operator=(const WithThreads&) = delete;

 private:
  int before_;
};

}  // namespace batchplus::testing
