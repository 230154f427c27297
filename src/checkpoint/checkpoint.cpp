#include "checkpoint/checkpoint.h"

#include <fmt/format.h>

#include "util/error.h"

namespace batchplus {
namespace {

constexpr const char* kPortableBits = "has_portable_bits";
constexpr const char* kOtherProgram = "it was made by another program";

Json to_json(const ControlVariateProbe::Sums& sums) {
  return {{"gradient", sums.deviations.gradient}, {"product", sums.deviations.product},
          {"control", sums.deviations.control},   {"estimate_squares", sums.estimate_squares},
          {"distances", sums.distances},          {"steps", sums.steps}};
}

/// A count that a run can have reached.
int64_t count_at(const Json& json, const char* key) {
  const Json& count = json.at(key);
  constexpr int64_t kMost = int64_t{1} << 62;
  if (count.is_number_integer() && count >= 0 && count <= kMost) return count.get<int64_t>();
  throw Error("the checkpoint holds a number that no run has", {key, count.dump(), kOtherProgram});
}

ControlVariateProbe::Sums to_sums(const Json& json) {
  return {.deviations = {.gradient = json.at("gradient"),
                         .product = json.at("product"),
                         .control = json.at("control")},
          .estimate_squares = json.at("estimate_squares"),
          .distances = json.at("distances"),
          .steps = count_at(json, "steps")};
}

Json to_json(const TrainState& state) {
  const EpochRecord& last = state.last;
  Json json = {{"epoch", state.epoch_index},
               {"outer_batches", state.outer_batches},
               {"is_over", state.is_over},
               {"epochs_done", last.epochs_done},
               {"outer_steps", last.outer_steps},
               {"inner_steps", last.inner_steps},
               {"lr", last.learning_rate},
               {"seconds", last.train_seconds},
               {"metrics_seconds", last.metrics_seconds}};
  if (state.best_test_accuracy) json["best_test_accuracy"] = *state.best_test_accuracy;
  return json;
}

TrainState to_train_state(const Json& json, int64_t sample_gradients) {
  TrainState state;
  state.epoch_index = count_at(json, "epoch");
  state.outer_batches = count_at(json, "outer_batches");
  state.is_over = json.at("is_over");
  state.last.epochs_done = json.at("epochs_done");
  state.last.outer_steps = count_at(json, "outer_steps");
  state.last.inner_steps = count_at(json, "inner_steps");
  state.last.sample_gradients = sample_gradients;
  state.last.learning_rate = json.at("lr");
  state.last.train_seconds = json.at("seconds");
  state.last.metrics_seconds = json.at("metrics_seconds");
  if (json.contains("best_test_accuracy"))
    state.best_test_accuracy = json["best_test_accuracy"].get<double>();
  return state;
}

int threads_at(const Json& json) {
  const int64_t threads = count_at(json, "threads");
  if (threads >= 1 && threads <= kMostThreads) return static_cast<int>(threads);
  throw Error("the checkpoint holds a number that no run has",
              {"threads", std::to_string(threads), kOtherProgram});
}

void require_known_format(const Json& json, const std::string& where) {
  const Json version = json.value("format_version", Json());
  if (version == kCheckpointFormatVersion) return;
  throw Error("the checkpoint has another format",
              {where, fmt::format("version {}", version.dump()),
               fmt::format("this program knows version {}; continue with the one that wrote it",
                           kCheckpointFormatVersion)});
}

}  // namespace

Json to_json(const Checkpoint& checkpoint) {
  Json json = {{"format_version", kCheckpointFormatVersion},
               {"train", to_json(checkpoint.train)},
               {"sample_gradients", checkpoint.spent.sample_gradients()},
               {"sample_forwards", checkpoint.spent.sample_forwards()},
               {"loss_sum", checkpoint.losses.sum},
               {"loss_samples", checkpoint.losses.samples},
               {"control_variate", to_json(checkpoint.control_variate)},
               {"parameter_layout", checkpoint.parameter_layout},
               {"config", checkpoint.identity.config},
               {"data", checkpoint.identity.data},
               {"records", checkpoint.records},
               {"threads", checkpoint.identity.threads}};
  if (checkpoint.identity.has_portable_bits) json[kPortableBits] = *checkpoint.identity.has_portable_bits;
  return json;
}

Checkpoint to_checkpoint(const Json& json, NamedTensors tensors, const std::string& where) {
  require_known_format(json, where);
  try {
    const int64_t sample_gradients = count_at(json, "sample_gradients");
    std::optional<bool> has_portable_bits;
    if (json.contains(kPortableBits)) has_portable_bits = json[kPortableBits].get<bool>();
    return {.identity = {json.at("config"), json.at("data"), threads_at(json), has_portable_bits},
            .records = json.at("records"),
            .train = to_train_state(json.at("train"), sample_gradients),
            .spent = GradientBudget(sample_gradients, count_at(json, "sample_forwards")),
            .losses = {json.at("loss_sum"), count_at(json, "loss_samples")},
            .control_variate = to_sums(json.at("control_variate")),
            .parameter_layout = json.at("parameter_layout"),
            .tensors = std::move(tensors)};
  } catch (const Json::exception& problem) {
    throw Error("the checkpoint lacks something", {where, problem.what(), kOtherProgram});
  }
}

}  // namespace batchplus
