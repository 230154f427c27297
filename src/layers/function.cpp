#include "layers/function.h"

#include <ATen/ops/empty.h>

#include "util/error.h"

namespace batchplus::function {

Tensor make_trigger(bool is_wanted) {
  return at::empty({0}).set_requires_grad(is_wanted);
}

void refuse_second_derivative() {
  if (!torch::GradMode::is_enabled()) return;
  throw Error("own kernels have first derivatives only",
              {"backward with create_graph", "training mode", "use_kernels(module, Kernels::kAten)"});
}

}  // namespace batchplus::function
