#include <ATen/record_function.h>

#include <ATen/ATen.h>

#include <memory>
#include <string_view>

#include "networks/registry.h"
#include "util/error.h"

namespace batchplus {
namespace {

// The callback is a plain function, so the sum that it adds to is reached through the thread that runs the
// pass.
thread_local int64_t* macs_of_this_thread = nullptr;

std::unique_ptr<at::ObserverContext> begin_operation(const at::RecordFunction& /*operation*/) {
  return nullptr;
}

void count_operation(const at::RecordFunction& operation, at::ObserverContext* /*context*/) {
  if (macs_of_this_thread == nullptr) return;
  const std::string_view name = operation.name();
  const auto inputs = operation.inputs();
  if (name == "aten::convolution") {
    // Every output element is a dot product as long as one filter: weight [out, in/groups, kh, kw].
    const int64_t filter = inputs[1].toTensor()[0].numel();
    *macs_of_this_thread += operation.outputs()[0].toTensor().numel() * filter;
  } else if (name == "aten::addmm" || name == "aten::mm") {
    // [N,K] x [K,M]
    const size_t first = name == "aten::addmm" ? 1 : 0;
    const at::Tensor a = inputs[first].toTensor();
    *macs_of_this_thread += a.numel() * inputs[first + 1].toTensor().size(1);
  }
}

}  // namespace

int64_t count_macs(const Model& model, int64_t channels, int64_t side) {
  const torch::NoGradGuard no_grad;
  const bool was_training = model.module->is_training();
  model.module->eval();
  int64_t macs = 0;
  const auto counting =
      at::addThreadLocalCallback(at::RecordFunctionCallback(begin_operation, count_operation)
                                     .needsInputs(true)
                                     .needsOutputs(true)
                                     .scopes({at::RecordScope::FUNCTION}));
  macs_of_this_thread = &macs;
  model.forward(torch::zeros({1, channels, side, side}));
  macs_of_this_thread = nullptr;
  at::removeCallback(counting);
  model.module->train(was_training);
  return macs;
}

}  // namespace batchplus
