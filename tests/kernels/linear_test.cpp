#include "kernels/linear.h"

#include <gtest/gtest.h>

#include "kernels/processor.h"
#include "kernels/relative_error.h"
#include "kernels/tensors.h"
#include "support/machine.h"
#include "support/rounding.h"
#include "support/threads.h"

namespace batchplus::kernels {
namespace {

using testing::running_sum_rounding;
using testing::spread_of;

const std::vector<LinearShape> kShapes = {{128, 3072, 100}, {10, 3072, 100}, {1, 7, 3},
                                          {5, 100, 10},     {64, 512, 512},  {3, 1025, 17},
                                          {2, 1, 1},        {127, 33, 65},   {600, 9, 11}};

/// With so many threads.
class LinearKernels : public ::testing::TestWithParam<int> {
  void SetUp() override { testing::machine_has("avx2", are_available()); }
  testing::WithThreads threads_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Threads, LinearKernels, ::testing::Values(1, 2, 5));

TEST_P(LinearKernels, RoundNoMoreThanRunningSums) {
  for (const LinearShape& shape : kShapes) {
    for (const bool is_relu : {false, true}) {
      SCOPED_TRACE(::testing::Message()
                   << shape.samples << " x " << shape.in << " to " << shape.out << ", relu " << is_relu);
      at::manual_seed(shape.in);
      const at::Tensor x = at::randn({shape.samples, shape.in});
      const at::Tensor w = at::randn({shape.out, shape.in});
      const at::Tensor b = at::randn({shape.out});
      const at::Tensor g = at::randn({shape.samples, shape.out});
      const at::Tensor y = at::full_like(g, NAN);
      const at::Tensor dx = at::full_like(x, NAN);
      const at::Tensor dw = at::full_like(w, NAN);
      const at::Tensor db = at::full_like(b, NAN);
      linear_forward(shape, x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), is_relu,
                     y.data_ptr<float>());
      linear_backward(shape, {.x = x.data_ptr<float>(),
                              .weight = w.data_ptr<float>(),
                              .y_gradient = g.data_ptr<float>(),
                              .y = is_relu ? y.data_ptr<float>() : nullptr,
                              .x_gradient = dx.data_ptr<float>(),
                              .weight_gradient = dw.data_ptr<float>(),
                              .bias_gradient = db.data_ptr<float>()});
      const auto check = [](const char* what, const at::Tensor& own, const at::Tensor& exact, int64_t terms) {
        EXPECT_LE(relative_error(own, exact), running_sum_rounding(terms) * spread_of(exact.numel())) << what;
      };
      const at::Tensor sum = at::linear(x.to(at::kDouble), w.to(at::kDouble), b.to(at::kDouble));
      const at::Tensor passed = (is_relu ? g * (y > 0) : g).to(at::kDouble);
      check("y", y, is_relu ? sum.relu() : sum, shape.in + 1);  // one more for the bias
      check("dx", dx, passed.mm(w.to(at::kDouble)), shape.out);
      check("dw", dw, passed.t().mm(x.to(at::kDouble)), shape.samples);
      check("db", db, passed.sum(0), shape.samples);

      const at::Tensor dx_alone = at::full_like(x, NAN);
      linear_backward(shape, {.x = x.data_ptr<float>(),
                              .weight = w.data_ptr<float>(),
                              .y_gradient = g.data_ptr<float>(),
                              .y = is_relu ? y.data_ptr<float>() : nullptr,
                              .x_gradient = dx_alone.data_ptr<float>()});
      EXPECT_TRUE(dx_alone.equal(dx));
    }
  }
}

}  // namespace
}  // namespace batchplus::kernels
