#include "layers/function.h"

#include <ATen/ops/empty.h>

#include "kernels/sample_rows.h"
#include "kernels/tensors.h"
#include "util/error.h"

namespace batchplus::function {

Tensor make_trigger(bool is_wanted) {
  return at::empty({0}).set_requires_grad(is_wanted);
}

Tensor sum_of_samples(const Tensor& rows) {
  const Tensor sum = at::empty({rows.size(1)}, rows.options());
  kernels::sum_rows(rows.size(0), rows.size(1), kernels::data_of(rows), kernels::data_of(sum));
  return sum;
}

void refuse_second_derivative() {
  if (!torch::GradMode::is_enabled()) return;
  throw Error("own kernels have first derivatives only",
              {"backward with create_graph", "training mode", "use_kernels(module, Kernels::kAten)"});
}

}  // namespace batchplus::function
