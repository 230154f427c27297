#include <ATen/ATen.h>
#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

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
  void reportMemoryUsage(void*, int64_t size, int64_t, int64_t, c10::Device) { bytes += size; }
  void reportMemoryUsage(void*, int64_t size, size_t, size_t, c10::Device) { bytes += size; }

  int64_t bytes = 0;
};

}  // namespace

int64_t measure_activation_bytes(const Model& model, int64_t batch, int64_t channels, int64_t side) {
  const bool was_training = model.module->is_training();
  model.module->train();
  const BufferSnapshot buffers(*model.module);
  const auto parameters = model.module->parameters();
  const torch::Device device = parameters.empty() ? torch::kCPU : parameters.front().device();
  const torch::Tensor images =
      torch::zeros({batch, channels, side, side}, device).contiguous(model.memory_format);
  const torch::Tensor labels = torch::zeros({batch}, torch::TensorOptions(torch::kInt64).device(device));
  const auto allocated = std::make_shared<AllocatedBytes>();
  int64_t kept = 0;
  {
    const c10::DebugInfoGuard reporting(c10::DebugInfoKind::PROFILER_STATE, allocated);
    const torch::Tensor loss = at::cross_entropy_loss(model.forward(images), labels);
    kept = allocated->bytes;
  }
  buffers.restore();
  model.module->train(was_training);
  return kept;
}

}  // namespace batchplus
