#include "kernels/sample_rows.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "support/threads.h"

namespace batchplus::kernels {
namespace {

TEST(SampleRows, AreSummedAndSquaredInDouble) {
  for (const auto& [samples, columns] :
       std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {3, 17}, {128, 3072}}) {
    at::manual_seed(columns);
    const at::Tensor rows = at::randn({samples, columns});
    const at::Tensor exact = rows.to(at::kDouble);
    for (const int threads : {1, 2, 3}) {
      const testing::WithThreads with(threads);
      const at::Tensor sums = at::empty({columns});
      const at::Tensor squares = at::empty({samples}, at::kDouble);
      sum_rows(samples, columns, rows.data_ptr<float>(), sums.data_ptr<float>());
      square_rows(samples, columns, rows.data_ptr<float>(), squares.data_ptr<double>());
      // Once to single precision.
      EXPECT_LE((sums - exact.sum(0)).abs().max().item<double>(),
                6e-8 * exact.sum(0).abs().max().item<double>());
      // Thousands of roundings to double.
      EXPECT_LE((squares / exact.square().sum(1) - 1).abs().max().item<double>(), 1e-13);
    }
  }
}

}  // namespace
}  // namespace batchplus::kernels
