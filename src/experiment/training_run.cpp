#include "experiment/training_run.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>

#include "experiment/checkpoint_schedule.h"
#include "experiment/continuation.h"
#include "experiment/measuring.h"
#include "experiment/memory_estimate.h"
#include "experiment/method_config.h"
#include "experiment/provenance.h"
#include "experiment/training_session.h"
#include "methods/registry.h"
#include "networks/registry.h"
#include "util/error.h"
#include "util/file.h"

namespace batchplus {
namespace {

/// What can be wrong with a config and needs no data to be seen.
void check_without_data(const RunConfig& config) {
  find_dataset(config.dataset);
  find_network(config.model);
  find_method(config.method, "--method");
  find_method(config.warmup_method, "--warmup-method");
  Schedule::parse(config.schedule, "--schedule");
  parse_metric_groups(config.metrics, MetricUse::kTrain, "--metrics");
  measure_options(config);
  CheckpointSchedule::parse(config.checkpoint_every, "--checkpoint-every");
  if (!config.save_weights.empty()) require_writable_target(config.save_weights, "--save-weights");
}

/// Computes with so many threads until the end of the scope; 0: with those that are set.
class ThreadCount {
 public:
  explicit ThreadCount(int threads) : before_(at::get_num_threads()) {
    if (threads > 0) at::set_num_threads(threads);
  }
  ~ThreadCount() { at::set_num_threads(before_); }
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  int before_;
};

/// What only makes sense with a run directory.
void require_directory(const RunConfig& config, const RunEnvironment& environment) {
  if (!config.out.empty()) return;
  if (environment.has_tensorboard) {
    throw Error("event files go into a run directory", {"--tensorboard", "", "name one with --out"});
  }
  if (environment.is_resuming) {
    throw Error("only a run with a directory can be resumed", {"--resume", "", "name it with --out"});
  }
}

/// Training samples, as far as is known before the dataset is read; else 0.
int64_t published_samples(const RunConfig& config) {
  const int64_t all = find_dataset(config.dataset).train_samples;
  return config.train_limit > 0 ? std::min(config.train_limit, all)
                                : std::max<int64_t>(0, all - config.validation);
}

/// Loads it if the run will fit in memory.
RunData load_data_in_memory(RunConfig& config) {
  const int64_t published = published_samples(config);
  if (published > 0) require_memory(config, published);
  RunData data = load_run_data(config);
  if (published == 0) require_memory(config, data.views.train.size());
  return data;
}

void tell(const Continuation& earlier, const std::vector<std::string>& differences,
          TrainingSession& session) {
  for (const auto* notes : {&earlier.notes, &differences}) {
    for (const std::string& note : *notes) session.progress().print_line("note: " + note);
  }
  session.progress().print_line(fmt::format("resumed after {:.4g} epochs", session.epochs_done()));
}

/// An Error of a run that had begun: the input was fine, and what was saved is still there.
Error after_start(const Error& problem, const RunRecords& records) {
  Error::Details details = problem.details();
  if (records.writer() != nullptr) {
    details.hint += fmt::format("{}what was saved is intact: go on with --resume --out {}",
                                details.hint.empty() ? "" : "; ", records.writer()->layout().root.string());
  }
  return Error(problem.summary(), details, Error::kFailure);
}

}  // namespace

RunOutcome run_training(RunConfig config, const RunEnvironment& environment) {
  check_without_data(config);
  require_directory(config, environment);
  std::optional<RunWriter> writer;
  std::optional<Continuation> earlier;
  if (environment.is_resuming && RunLayout{config.out}.holds_run()) {
    writer.emplace(config.out);
    earlier = read_continuation(writer->layout());
  }
  const ThreadCount threads(environment.threads == 0 && earlier ? earlier->threads : 0);

  const RunData data = load_data_in_memory(config);
  resolve_method(config, data.views.train.size());
  if (earlier) require_same_run(config, fingerprint(data.views.train), *earlier, writer->layout());
  if (earlier && !earlier->result.is_null()) {
    return {earlier->result, earlier->result["status"] == "diverged"};
  }
  TrainingSession session(config, data, environment);
  if (earlier && earlier->checkpoint) {
    session.restore(*earlier->checkpoint, writer->layout().checkpoint().string());
  }

  if (!writer && !config.out.empty()) writer.emplace(config.out);
  RunRecords records(std::move(writer));
  const Json about_us = provenance(environment.device.str());
  if (earlier) {
    tell(*earlier, describe_differences(records.writer()->layout(), about_us), session);
    records.resume(config, about_us, earlier->records);
  } else {
    using Leftover = RunWriter::Leftover;
    records.begin(config, about_us, environment.is_resuming ? Leftover::kReplace : Leftover::kRefuse);
  }
  try {
    if (environment.has_tensorboard) records.add_events(config);
    return session.run(records);
  } catch (const Error& problem) {
    throw after_start(problem, records);
  }
}

}  // namespace batchplus
