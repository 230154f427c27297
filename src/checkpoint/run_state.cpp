#include "checkpoint/run_state.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <map>

#include "formats/state_dict_file.h"
#include "networks/weight_file.h"
#include "util/error.h"
#include "util/hash.h"

namespace batchplus {
namespace {

constexpr const char* kBeginAnew =
    "continue with the program that wrote it, or begin anew in another directory";

/// What the methods and the average keep, under the names that it has in a checkpoint.
NamedTensors kept_tensors(const RunState& run) {
  NamedTensors tensors;
  const auto add = [&](const NamedTensors& state, const char* role) {
    for (const auto& [name, tensor] : state) {
      tensors.emplace_back(fmt::format("{}{}.{}", kReservedPrefix, role, name), tensor);
    }
  };
  add(run.method.state(), "method");
  if (run.warmup_method != nullptr) add(run.warmup_method->state(), "warmup_method");
  if (run.average != nullptr) add(run.average->state(), "average");
  return tensors;
}

std::string layout_id(const FlatParameters& parameters) {
  return sha256_hex(parameters.layout());
}

/// These tensors of a checkpoint beside those of the run.
std::vector<std::pair<torch::Tensor, torch::Tensor>> match(const NamedTensors& targets,
                                                           const Checkpoint& from, const std::string& where) {
  std::map<std::string, torch::Tensor> saved;
  for (const auto& [name, tensor] : from.tensors) {
    if (name.starts_with(kReservedPrefix)) saved[name] = tensor;
  }
  std::vector<std::pair<torch::Tensor, torch::Tensor>> pairs;
  const auto fail = [&](const std::string& name) {
    throw Error("the checkpoint is of another method", {where, name, kBeginAnew});
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

Checkpoint RunState::capture(const TrainState& train, const RunIdentity& identity,
                             const std::string& records) const {
  Checkpoint checkpoint{.identity = identity,
                        .records = records,
                        .train = train,
                        .spent = budget,
                        .losses = oracle.loss_sum(),
                        .control_variate = control_variate.sums(),
                        .parameter_layout = layout_id(parameters),
                        .tensors = state_dict(*model.module)};
  for (auto& entry : kept_tensors(*this)) checkpoint.tensors.push_back(std::move(entry));
  return checkpoint;
}

void RunState::restore(const Checkpoint& checkpoint, const std::string& where) {
  if (checkpoint.parameter_layout != layout_id(parameters)) {
    throw Error("the checkpoint is of another network, or of one that lies in memory differently",
                {where, "", kBeginAnew});
  }
  const auto vectors = match(kept_tensors(*this), checkpoint, where);
  load_state_dict(*model.module, checkpoint.tensors, where);
  const torch::NoGradGuard no_grad;
  for (const auto& [target, source] : vectors) target.copy_(source);
  budget = checkpoint.spent;
  oracle.set_loss_sum(checkpoint.losses);
  control_variate.set_sums(checkpoint.control_variate);
}

}  // namespace batchplus
