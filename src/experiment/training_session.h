#pragma once

#include <optional>

#include "data/batch_pipeline.h"
#include "experiment/checkpoint_schedule.h"
#include "experiment/run_data.h"
#include "experiment/run_records.h"
#include "experiment/run_state.h"
#include "experiment/training_run.h"

namespace batchplus {

/// The parts of a run, built from a resolved config and its data: network, gradient oracle, methods, batches,
/// probes. What is wrong with them is an Error of the constructor, before anything is written.
class TrainingSession {
 public:
  /// Config, data and environment outlive the session.
  TrainingSession(const RunConfig& config, const RunData& data, const RunEnvironment& environment);

  /// Takes over where a checkpoint left off. `where` names it.
  void restore(const Checkpoint& checkpoint, const std::string& where);
  /// Passes over the training samples that are done.
  double epochs_done() const { return start_.last.epoch; }

  /// Trains to the end, writing as it goes.
  RunOutcome run(RunRecords& records);

  Progress& progress() { return progress_; }

 private:
  Trainer::Parts parts();
  TrainOptions options() const;
  Evaluation evaluate_on(const ImageView& view) const;
  /// Saves the run if it is time; returns whether it goes on.
  bool save_and_ask(const TrainState& state, const RunRecords& records);
  RunOutcome conclude(const TrainResult& trained, RunRecords& records);

  const RunConfig& config_;
  const RunData& data_;
  const RunEnvironment& environment_;
  Model model_;
  FlatParameters parameters_;
  GradientBudget budget_;
  GradientOracle oracle_;
  Method method_;
  std::optional<Method> warmup_method_;
  BatchSource source_;
  BatchPipeline batches_;
  Progress progress_;
  RunProbes probes_;
  RunState state_;
  TrainState start_;
  std::string data_fingerprint_;
  CheckpointSchedule schedule_;
  int signal_ = 0;
};

}  // namespace batchplus
