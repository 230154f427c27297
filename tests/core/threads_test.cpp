#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <set>

namespace batchplus {
namespace {

// at::parallel_for is a template: in a program compiled without OpenMP it silently runs on the calling
// thread.
TEST(Threads, ParallelForOfThisProgramUsesAsManyAsLibtorchIsGiven) {
  const int before = at::get_num_threads();
  at::set_num_threads(2);
  std::vector<int> worker(64, -1);
  at::parallel_for(0, 64, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) worker[static_cast<size_t>(i)] = at::get_thread_num();
  });
  at::set_num_threads(before);
  EXPECT_EQ(std::set<int>(worker.begin(), worker.end()), (std::set<int>{0, 1}));
}

}  // namespace
}  // namespace batchplus
