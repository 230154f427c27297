#include <ATen/ATen.h>
#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>
#include <memory>

#include "core/flat_parameters.h"
#include "networks/measure.h"

namespace batchplus {
namespace {

/// Adds up what the allocator reports on this thread.
class AllocatedBytes : public c10::MemoryReportingInfoBase {
 public:
  bool memoryProfilingEnabled() const override { return true; }
  // libtorch 1.13 passes the totals as int64_t, 2.x as size_t: one of the two is the override.
  void reportMemoryUsage(void*, int64_t size, int64_t, int64_t, c10::Device) { add(size); }
  void reportMemoryUsage(void*, int64_t size, size_t, size_t, c10::Device) { add(size); }

  int64_t bytes = 0;
  int64_t most = 0;

 private:
  void add(int64_t size) {
    bytes += size;
    most = std::max(most, bytes);
  }
};

struct StepBytes {
  /// Between the forward and the backward pass.
  int64_t kept = 0;
  /// At most.
  int64_t most = 0;
};

/// Parameters and images excluded.
StepBytes measure_step(const Model& model, int64_t batch, int64_t channels, int64_t side) {
  const bool was_training = model.module->is_training();
  model.module->train();
  const BufferSnapshot buffers(*model.module);
  const auto parameters = model.module->parameters();
  const torch::Device device = parameters.empty() ? torch::kCPU : parameters.front().device();
  const torch::Tensor images =
      torch::zeros({batch, channels, side, side}, device).contiguous(model.memory_format);
  const torch::Tensor labels = torch::zeros({batch}, torch::TensorOptions(torch::kInt64).device(device));
  const auto allocated = std::make_shared<AllocatedBytes>();
  StepBytes bytes;
  {
    const c10::DebugInfoGuard reporting(c10::DebugInfoKind::PROFILER_STATE, allocated);
    const torch::Tensor loss = at::cross_entropy_loss(model.forward(images), labels);
    bytes.kept = allocated->bytes;
    // The gradient of the first parameter takes the whole way back, without the others' gradients, which do
    // not grow with the batch.
    const auto first = std::find_if(parameters.begin(), parameters.end(),
                                    [](const torch::Tensor& parameter) { return parameter.requires_grad(); });
    if (first != parameters.end()) {
      torch::autograd::grad({loss}, {*first}, /*grad_outputs=*/{}, /*retain_graph=*/false,
                            /*create_graph=*/false, /*allow_unused=*/true);
    }
    bytes.most = allocated->most;
  }
  buffers.restore();
  model.module->train(was_training);
  return bytes;
}

}  // namespace

int64_t measure_activation_bytes(const Model& model, int64_t batch, int64_t channels, int64_t side) {
  return measure_step(model, batch, channels, side).kept;
}

int64_t measure_sample_bytes(const Model& model, int64_t channels, int64_t side) {
  constexpr int64_t kFew = 2;
  const StepBytes fewer = measure_step(model, kFew, channels, side);
  const StepBytes more = measure_step(model, 2 * kFew, channels, side);
  return std::max(more.most - fewer.most, more.kept - fewer.kept) / kFew;
}

}  // namespace batchplus
