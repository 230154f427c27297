#pragma once

#include <optional>

#include "store/event_file.h"
#include "store/run_directory.h"
#include "train/callback.h"

namespace batchplus {

/// A record of metrics.jsonl. docs/run-directory.md says what each key means.
Json record_json(const EpochRecord& record, int64_t inner_batch);

/// Writes each epoch's record into the run directory, and for TensorBoard if wanted. Without a directory it
/// keeps the last one and writes nothing.
class RecordKeeper : public TrainCallback {
 public:
  /// `writer`: of the run directory, which has begun or goes on; null without one. It outlives the keeper.
  RecordKeeper(RunWriter* writer, int64_t inner_batch);

  /// Writes events for TensorBoard from now on; the config is shown with them.
  void add_events(const std::string& config_toml);
  void after_epoch(const EpochEnd& end) override;
  /// The last one, whether it was made by this process or by the one before; null when there is none.
  const Json& last() const { return last_; }

 private:
  RunWriter* writer_;
  int64_t inner_batch_;
  std::optional<EventFile> events_;
  Json last_;
};

}  // namespace batchplus
