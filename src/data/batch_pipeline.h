#pragma once

#include <array>
#include <future>

#include "data/batch_source.h"

namespace batchplus {

/// Hands out the outer batches of an epoch; where a core is idle (or another device computes), the next one
/// is prepared by another thread while the caller computes with the current one, otherwise by all threads
/// when it is asked for. The batches lie in memory that is allocated once (pinned for CUDA) and used in turn.
/// What is in them does not depend on the threads.
class BatchPipeline {
 public:
  explicit BatchPipeline(BatchSource& source) : source_(source) {}
  ~BatchPipeline();
  BatchPipeline(const BatchPipeline&) = delete;
  BatchPipeline& operator=(const BatchPipeline&) = delete;

  /// As BatchSource::begin_epoch.
  void begin_epoch(int64_t epoch, int64_t outer_size);
  int64_t outer_batches() const { return source_.outer_batches(); }
  int64_t outer_batch_size(int64_t i) const { return source_.outer_batch_size(i); }

  /// The i-th outer batch, and then begins with the next one. Its tensors are overwritten after the next
  /// call.
  OuterBatch outer_batch(int64_t i);

  /// Seconds that callers waited for batches so far.
  double waited_seconds() const { return waited_seconds_; }

 private:
  void prepare(int64_t i);
  void discard();

  BatchSource& source_;
  std::array<BatchBuffer, 2> buffers_;
  /// The outer batch that is being prepared.
  std::future<OuterBatch> next_;
  int64_t next_index_ = -1;
  double waited_seconds_ = 0;
};

}  // namespace batchplus
