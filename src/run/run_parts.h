#pragma once

#include <optional>

#include "data/batch_pipeline.h"
#include "methods/weight_average.h"
#include "run/run_data.h"

namespace batchplus {

/// What trains: network, gradient oracle, methods and batches, built from a plan and its data. What is wrong
/// with them is an Error of the constructor, before anything is written.
struct RunParts {
  /// The data outlives the parts, and so does a group with which gradients are shared out.
  RunParts(const RunPlan& plan, const RunData& data, torch::Device device, const Sharing& sharing);
  RunParts(const RunParts&) = delete;
  RunParts& operator=(const RunParts&) = delete;

  Method* warmup() { return warmup_method ? &*warmup_method : nullptr; }
  WeightAverage* averaged() { return average ? &*average : nullptr; }

  Model model;
  FlatParameters parameters;
  GradientBudget budget;
  GradientOracle oracle;
  Method method;
  std::optional<Method> warmup_method;
  /// Of the weights after every step; nothing unless it is asked for.
  std::optional<WeightAverage> average;
  BatchSource source;
  BatchPipeline batches;
};

}  // namespace batchplus
