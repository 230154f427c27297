#include "layers/function.h"

#include "util/error.h"

namespace batchplus::function {

void refuse_second_derivative() {
  if (!torch::GradMode::is_enabled()) return;
  throw Error("own kernels have first derivatives only",
              {"backward with create_graph", "training mode", "use_kernels(module, Kernels::kAten)"});
}

}  // namespace batchplus::function
