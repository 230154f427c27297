#pragma once

#include <optional>

#include "checkpoint/checkpoint.h"
#include "config/run_config.h"
#include "store/run_directory.h"

namespace batchplus {

/// What a run directory offers to go on from. All of it is covered by checksums.
struct Continuation {
  /// What decides the result, as it was when the run began.
  RunConfig config;
  /// Nothing: the run was cut short before its first checkpoint and begins anew.
  std::optional<Checkpoint> checkpoint;
  /// The lines of metrics.jsonl that count.
  std::string records;
  /// The result of a run that has ended; null when there is something left to do.
  Json result;
  /// Threads that the run began with, on which libtorch's bits depend; 0 when that is not known.
  int threads = 0;
  /// What the user should know: a damaged file that something else made good, another number of threads.
  std::vector<std::string> notes;
};

/// What to read of a run that has ended: its result, or the checkpoint of its end besides.
enum class Ended { kResult, kCheckpointToo };

/// An Error when what is left of the run cannot be trusted.
Continuation read_continuation(const RunLayout& layout, Ended ended = Ended::kResult);

/// How this process differs from the one that began the run, as far as its last bits may depend on it.
/// Own kernels give the same bits on every processor and with any number of threads.
std::vector<std::string> describe_differences(const RunLayout& layout, const Json& provenance,
                                              bool has_own_kernels);

/// An Error with the keys that differ, unless the (complete) config is that of the run, and when the training
/// data has another fingerprint.
void require_same_run(const RunConfig& config, const std::string& data, const Continuation& run,
                      const RunLayout& layout);

}  // namespace batchplus
