#include "kernels/linear.h"

#include <gtest/gtest.h>

#include "kernels/maps_of_tensors.h"
#include "kernels/processor.h"

namespace batchplus {
namespace {

const std::vector<LinearShape> kShapes = {{128, 3072, 100}, {10, 3072, 100}, {1, 7, 3},
                                          {5, 100, 10},     {64, 512, 512},  {3, 1025, 17},
                                          {2, 1, 1},        {127, 33, 65},   {600, 9, 11}};

TEST(LinearKernels, AreAsAccurateAsLibtorch) {
  if (!has_own_kernels()) GTEST_SKIP() << "the processor has no AVX2";
  for (const LinearShape& shape : kShapes) {
    for (const bool is_relu : {false, true}) {
      SCOPED_TRACE(testing::Message()
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
      const auto check = [&](const char* what, const at::Tensor& own, auto compute) {
        const at::Tensor exact = compute(at::kDouble);
        EXPECT_LE(relative_error(own, exact), std::max(4e-7, relative_error(compute(at::kFloat), exact)))
            << what;
      };
      const at::Tensor passed = is_relu ? g * (y > 0) : g;
      check("y", y, [&](at::ScalarType type) {
        const at::Tensor sum = at::linear(x.to(type), w.to(type), b.to(type));
        return is_relu ? sum.relu() : sum;
      });
      check("dx", dx, [&](at::ScalarType type) { return passed.to(type).mm(w.to(type)); });
      check("dw", dw, [&](at::ScalarType type) { return passed.to(type).t().mm(x.to(type)); });
      check("db", db, [&](at::ScalarType type) { return passed.to(type).sum(0); });
    }
  }
}

}  // namespace
}  // namespace batchplus
