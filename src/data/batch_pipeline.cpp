#include "data/batch_pipeline.h"

#include <ATen/Parallel.h>

#include <memory>
#include <thread>

#include "util/clock.h"

namespace batchplus {
namespace {

/// Whether another thread would have a core to itself while the caller computes.
bool has_idle_core() {
  return std::thread::hardware_concurrency() > static_cast<unsigned>(at::get_num_threads());
}

}  // namespace

BatchPipeline::~BatchPipeline() {
  discard();
}

void BatchPipeline::begin_epoch(int64_t epoch, int64_t outer_size) {
  discard();
  source_.begin_epoch(epoch, outer_size);
}

OuterBatch BatchPipeline::outer_batch(int64_t i) {
  const Stopwatch stopwatch;
  if (next_.valid() && next_index_ != i) discard();
  // Nothing else can be done while waiting for the first batch of an epoch, so all threads make it.
  OuterBatch outer = next_.valid() ? next_.get() : source_.outer_batch(i, buffers_[i % 2]);
  waited_seconds_ += stopwatch.seconds();
  // With every core computing, another thread would only take time from them: a step then waits for the
  // slower one.
  const bool is_ahead = !source_.options().device.is_cpu() || has_idle_core();
  if (is_ahead && i + 1 < source_.outer_batches()) prepare(i + 1);
  return outer;
}

void BatchPipeline::prepare(int64_t i) {
  auto task = std::make_shared<std::packaged_task<OuterBatch()>>(
      [this, i] { return source_.outer_batch(i, buffers_[i % 2], Threads::kCaller); });
  next_ = task->get_future();
  next_index_ = i;
  at::launch([task] { (*task)(); });
}

void BatchPipeline::discard() {
  if (next_.valid()) next_.wait();
  next_ = {};
}

}  // namespace batchplus
