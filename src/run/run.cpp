#include "run/run.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include "checkpoint/storage.h"
#include "config/config_toml.h"
#include "networks/weight_file.h"
#include "run/averaged_callbacks.h"
#include "run/progress_lines.h"
#include "run/provenance.h"
#include "run/record_keeper.h"
#include "util/error.h"

namespace batchplus {
namespace {

/// The result, but for what needs the model. `record` is the last one.
Json result_json(const std::string& status, const Json& record, const TrainResult& trained,
                 const GradientBudget& budget) {
  Json result = {{"status", status}};
  result.update(record);
  result["epochs"] = result["epoch"];
  result.erase("epoch");
  result["sample_forwards"] = budget.sample_forwards();
  const double seconds = record.at("seconds");
  result["samples_per_second"] = number_or_null(record.at("sample_gradients").get<double>() / seconds);
  if (trained.best_test_accuracy) result["best_test_accuracy"] = *trained.best_test_accuracy;
  return result;
}

}  // namespace

Run::Run(const RunPlan& plan, const RunData& data, const RunEnvironment& environment)
    : plan_(plan),
      data_(data),
      environment_(environment),
      progress_({.unit = "samples", .is_quiet = environment.is_quiet}),
      parts_(plan, data, environment.device, environment.sharing),
      evaluator_(parts_.model, data.views, plan.data.normalization, environment.device, plan.eval_every,
                 environment.sharing.group),
      probes_(plan,
              {parts_.model, parts_.parameters, data.views.train, data.views.test, plan.data.normalization,
               environment.device},
              environment.sharing.group, progress_),
      state_{parts_.model,    parts_.parameters,         parts_.oracle,    parts_.budget, parts_.method,
             parts_.warmup(), probes_.control_variate(), parts_.averaged()},
      has_portable_bits_(gives_portable_bits(plan, environment)) {
  probes_.watch(parts_.method);
}

void Run::restore(const Checkpoint& checkpoint, const std::string& where) {
  state_.restore(checkpoint, where);
  start_ = checkpoint.train;
  has_portable_bits_ = has_portable_bits_ && checkpoint.identity.has_portable_bits.value_or(true);
}

RunOutcome Run::train(RunWriter* writer) {
  progress_.count_from(static_cast<double>(start_.last.sample_gradients));
  ProgressLines lines(progress_, environment_.on_progress);
  RecordKeeper records(writer, plan_.method.sizes.inner_batch);
  if (environment_.has_tensorboard) records.add_events(to_toml(plan_.complete));
  CheckpointSaver saver(state_,
                        {result_toml(plan_.complete), fingerprint(data_.views.train), at::get_num_threads(),
                         has_portable_bits_},
                        plan_.checkpoints, writer, environment_.stop_signal, environment_.sharing.group);
  saver.begin(start_);
  std::vector<TrainCallback*> callbacks = {&evaluator_, &probes_};
  std::optional<AveragedCallbacks> averaged;
  if (parts_.average) {
    averaged.emplace(*parts_.average, std::move(callbacks));
    callbacks = {&*averaged};
  }
  callbacks.insert(callbacks.end(), {&lines, &records, &saver});
  Trainer trainer({parts_.batches, parts_.oracle, parts_.budget, parts_.method, parts_.warmup()}, plan_.train,
                  callbacks);
  const TrainResult trained = trainer.run(start_);
  progress_.clear();
  return conclude(trained, records.last(), writer, saver);
}

RunOutcome Run::conclude(const TrainResult& trained, const Json& last_record, RunWriter* writer,
                         const CheckpointSaver& saver) {
  Group* group = environment_.sharing.group;
  const bool has_records = group == nullptr || group->rank() == 0;
  const bool is_done = !trained.is_diverged && !trained.is_interrupted;
  const std::string status = is_done ? "done" : trained.is_diverged ? "diverged" : "interrupted";
  const Json record =
      is_done && has_records ? last_record : record_json(trained.last, plan_.method.sizes.inner_batch);
  if (record.is_null()) {
    throw Error("the checkpoint of a run that is over has no records",
                {plan_.complete.out, "", "restore the files, or begin anew in another directory"});
  }
  Json result = result_json(status, record, trained, parts_.budget);
  std::optional<WeightAverage::InPlace> averaged;
  if (parts_.average) averaged.emplace(*parts_.average);
  const StateDict weights = state_dict(*parts_.model.module);
  if (is_done) {
    const Evaluation train = evaluator_.evaluate_on(data_.views.train);
    result["train_loss"] = number_or_null(train.loss);
    result["train_accuracy"] = train.accuracy;
  }
  result["threads"] = at::get_num_threads();
  result["processes"] = group != nullptr ? group->size() : 1;
  // Whether any other machine gives this weights_sha256 too.
  result["has_portable_bits"] = has_portable_bits_;
  result["weights_sha256"] = weights_sha256(weights);
  if (group != nullptr) {
    group->agree("the result", result["weights_sha256"],
                 "a processor or its memory failed: go on from the last checkpoint");
  }
  // Weights that are not finite are of no use, and must not replace a file that is.
  const std::string& copy = plan_.complete.save_weights;
  if (is_done && has_records && !copy.empty()) write_weights(copy, weights);
  if (writer != nullptr) {
    if (is_done) writer->write_weights(encode_weights(weights));
    writer->set_status(status, result);
    if (is_done) drop_previous_checkpoint(writer->layout());
  }
  if (!trained.is_interrupted) return {result, trained.is_diverged};
  return {result, trained.is_diverged, saver.signal(),
          group != nullptr ? group->name_of(saver.signalled_rank()) : ""};
}

}  // namespace batchplus
