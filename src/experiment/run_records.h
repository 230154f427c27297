#pragma once

#include <optional>

#include "experiment/run_config.h"
#include "store/event_file.h"
#include "store/run_directory.h"
#include "train/trainer.h"

namespace batchplus {

/// A record of metrics.jsonl. docs/run-directory.md says what each key means.
Json record_json(const EpochRecord& record, int64_t inner_batch);

/// What a run writes as it goes: into its directory, and for TensorBoard if wanted. Does nothing for a run
/// without a directory.
class RunRecords {
 public:
  /// The directory is locked; what is written into it is only begun by one of the next two.
  explicit RunRecords(std::optional<RunWriter> writer) : writer_(std::move(writer)) {}

  void begin(const RunConfig& config, const Json& provenance, RunWriter::Leftover leftover);
  /// Goes on after these lines of metrics.jsonl.
  void resume(const RunConfig& config, const Json& provenance, const std::string& records);
  /// Writes events for TensorBoard from now on.
  void add_events(const RunConfig& config);

  void add(const Json& record);
  /// The last one, whether it was made by this process or by the one before; null when there is none.
  const Json& last() const { return last_; }

  void set_status(const Json& result);
  /// Null without a run directory.
  const RunWriter* writer() const { return writer_ ? &*writer_ : nullptr; }

 private:
  std::optional<RunWriter> writer_;
  std::optional<EventFile> events_;
  Json last_;
};

}  // namespace batchplus
