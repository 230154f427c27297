#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <memory>
#include <string_view>

#include "layers/layer.h"
#include "networks/measure.h"

namespace batchplus {
namespace {

// The callback is a plain function, so the sum that it adds to is reached through the thread that runs the
// pass.
thread_local int64_t* macs_of_this_thread = nullptr;

/// What the end of a convolution needs to know of its beginning.
struct ConvolutionBegun : at::ObserverContext {
  /// Elements of one filter.
  int64_t filter = 0;
};

/// Inputs may be read only when an operation begins, outputs only when it ends.
std::unique_ptr<at::ObserverContext> begin_operation(const at::RecordFunction& operation) {
  if (macs_of_this_thread == nullptr) return nullptr;
  const std::string_view name = operation.name();
  const auto inputs = operation.inputs();
  if (name == "aten::convolution") {
    const at::Tensor weight = inputs[1].toTensor();  // [out, in/groups, kh, kw]
    auto convolution = std::make_unique<ConvolutionBegun>();
    convolution->filter = weight.numel() / weight.size(0);
    return convolution;
  }
  if (name == "aten::addmm" || name == "aten::mm") {
    const size_t first = name == "aten::addmm" ? 1 : 0;  // [N,K] x [K,M]
    *macs_of_this_thread += inputs[first].toTensor().numel() * inputs[first + 1].toTensor().size(1);
  }
  return nullptr;
}

void end_operation(const at::RecordFunction& operation, at::ObserverContext* context) {
  // Every output element of a convolution is a dot product as long as one filter.
  const auto* convolution = dynamic_cast<const ConvolutionBegun*>(context);
  if (convolution == nullptr || macs_of_this_thread == nullptr) return;
  *macs_of_this_thread += operation.outputs()[0].toTensor().numel() * convolution->filter;
}

}  // namespace

int64_t count_macs(const Model& model, int64_t channels, int64_t side) {
  const torch::NoGradGuard no_grad;
  const bool was_training = model.module->is_training();
  model.module->eval();
  // What is counted are libtorch's operations.
  const KernelsInScope by_aten(*model.module, Kernels::kAten);
  int64_t macs = 0;
  const auto counting = at::addThreadLocalCallback(at::RecordFunctionCallback(begin_operation, end_operation)
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
