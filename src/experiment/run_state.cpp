#include "experiment/run_state.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <map>

#include "formats/checkpoint_file.h"
#include "networks/weight_file.h"
#include "util/error.h"
#include "util/hash.h"

namespace batchplus {
namespace {

/// The methods' tensors under the names that they have in a checkpoint.
NamedTensors method_tensors(const RunState& run) {
  NamedTensors tensors;
  const auto add = [&](const Method* method, const char* role) {
    if (method == nullptr) return;
    for (const auto& [name, tensor] : method->state()) {
      tensors.emplace_back(fmt::format("{}{}.{}", kReservedPrefix, role, name), tensor);
    }
  };
  add(&run.method, "method");
  add(run.warmup_method, "warmup_method");
  return tensors;
}

std::string layout_id(const FlatParameters& parameters) {
  return sha256_hex(parameters.layout());
}

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
  throw Error("the checkpoint holds a number that no run has",
              {key, count.dump(), "it was made by another program"});
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
  Json json = {{"epoch", state.epoch},
               {"outer_batches", state.outer_batches},
               {"is_over", state.is_over},
               {"epochs_done", last.epoch},
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
  state.epoch = count_at(json, "epoch");
  state.outer_batches = count_at(json, "outer_batches");
  state.is_over = json.at("is_over");
  state.last.epoch = json.at("epochs_done");
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

/// The methods' tensors of a checkpoint beside those of the run.
std::vector<std::pair<torch::Tensor, torch::Tensor>> match(const NamedTensors& targets,
                                                           const Checkpoint& from, const std::string& where) {
  std::map<std::string, torch::Tensor> saved;
  for (const auto& [name, tensor] : from.tensors) {
    if (name.starts_with(kReservedPrefix)) saved[name] = tensor;
  }
  std::vector<std::pair<torch::Tensor, torch::Tensor>> pairs;
  const auto fail = [&](const std::string& name) {
    throw Error("the checkpoint is of another method",
                {where, name, "continue with the program that wrote it, or begin anew in another directory"});
  };
  for (const auto& [name, target] : targets) {
    const auto source = saved.find(name);
    const bool fits = source != saved.end() && source->second.sizes() == target.sizes() &&
                      source->second.scalar_type() == target.scalar_type();
    if (!fits) fail(name);
    pairs.emplace_back(target, source->second);
    saved.erase(source);
  }
  if (!saved.empty()) fail(saved.begin()->first);
  return pairs;
}

}  // namespace

Checkpoint RunState::capture(const TrainState& state) const {
  Checkpoint checkpoint{{{"format_version", kCheckpointFormatVersion},
                         {"train", to_json(state)},
                         {"sample_gradients", budget.sample_gradients()},
                         {"sample_forwards", budget.sample_forwards()},
                         {"loss_sum", oracle.loss_sum().sum},
                         {"loss_samples", oracle.loss_sum().samples},
                         {"control_variate", to_json(probes.control_variate().sums())},
                         {"parameter_layout", layout_id(parameters)}},
                        state_dict(*model.module)};
  for (auto& entry : method_tensors(*this)) checkpoint.tensors.push_back(std::move(entry));
  return checkpoint;
}

TrainState RunState::restore(const Checkpoint& checkpoint, const std::string& where) {
  const Json& json = checkpoint.state;
  try {
    // Momentum and its like are flat vectors, which mean nothing under another order of the parameters.
    if (json.at("parameter_layout") != layout_id(parameters)) {
      throw Error("the checkpoint is of another network, or of one that lies in memory differently",
                  {where, "", "continue with the program that wrote it, or begin anew in another directory"});
    }
    const int64_t sample_gradients = count_at(json, "sample_gradients");
    const TrainState state = to_train_state(json.at("train"), sample_gradients);
    const GradientBudget spent(sample_gradients, count_at(json, "sample_forwards"));
    const GradientOracle::LossSum losses{json.at("loss_sum"), count_at(json, "loss_samples")};
    const ControlVariateProbe::Sums sums = to_sums(json.at("control_variate"));
    const auto vectors = match(method_tensors(*this), checkpoint, where);

    load_state_dict(*model.module, checkpoint.tensors, where);
    const torch::NoGradGuard no_grad;
    for (const auto& [target, source] : vectors) target.copy_(source);
    budget = spent;
    oracle.set_loss_sum(losses);
    probes.control_variate().set_sums(sums);
    return state;
  } catch (const Json::exception& problem) {
    throw Error("the checkpoint lacks something", {where, problem.what(), "it was made by another program"});
  }
}

}  // namespace batchplus
