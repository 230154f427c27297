#include "methods/weight_average.h"

#include <ATen/ATen.h>

#include "kernels/vector_kernels.h"

namespace batchplus {

WeightAverage::WeightAverage(const torch::nn::Module& module, const FlatParameters& parameters, double decay)
    : decay_(decay) {
  const auto add_entry = [&](const std::string& name, const torch::Tensor& present) {
    entries_.push_back({name, present, present.detach().clone()});
  };
  add_entry("weights", parameters.values());
  for (const auto& buffer : module.named_buffers()) {
    // A count of batches has no mean.
    if (buffer.value().is_floating_point()) add_entry("buffer." + buffer.key(), buffer.value());
  }
}

void WeightAverage::add() {
  for (const Entry& entry : entries_) kernels::move_towards(entry.average, decay_, entry.present);
}

NamedTensors WeightAverage::state() const {
  NamedTensors state;
  for (const Entry& entry : entries_) state.emplace_back(entry.name, entry.average);
  return state;
}

WeightAverage::InPlace::InPlace(const WeightAverage& average) : average_(average) {
  const torch::NoGradGuard no_grad;
  for (const Entry& entry : average_.entries_) {
    weights_.push_back(entry.present.detach().clone());
    entry.present.copy_(entry.average);
  }
}

WeightAverage::InPlace::~InPlace() {
  const torch::NoGradGuard no_grad;
  for (size_t i = 0; i < weights_.size(); ++i) average_.entries_[i].present.copy_(weights_[i]);
}

}  // namespace batchplus
