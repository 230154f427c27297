#pragma once

#include "checkpoint/schedule.h"
#include "config/run_config.h"
#include "data/batch_source.h"
#include "data/image_view.h"
#include "datasets/registry.h"
#include "layers/layer.h"
#include "methods/registry.h"
#include "metrics/registry.h"
#include "networks/registry.h"
#include "train/trainer.h"

namespace batchplus {

/// Which samples a run sees, and how.
struct DataPlan {
  DatasetInfo dataset;
  /// Where datasets are; empty: where they usually are.
  std::string directory;
  ViewOptions views;
  Normalization normalization;
  bool is_augmented = false;
  /// Side of the square that is masked in training images; 0: none.
  int64_t cutout = 0;
  /// alpha of mixup; 0: none.
  double mixup = 0;
  Sampling sampling = Sampling::kEpoch;
  /// After the limits.
  int64_t train_samples = 0;
};

struct NetworkPlan {
  NetworkInfo network;
  NetworkOptions options;
  Kernels kernels = Kernels::kFast;
  /// Of the initial weights.
  uint64_t seed = 0;
  /// A file whose weights a run begins with instead; empty: none.
  std::string init;
};

/// What a config means for a dataset: every default filled in, every word parsed, every number checked. Made
/// once, by resolve(), before anything is loaded.
struct RunPlan {
  /// The config with all that was left to defaults written out: what config.toml and a run's identity hold.
  RunConfig complete;
  /// Of the initial weights, the order of the samples, augmentation and dropout.
  uint64_t seed = 0;
  DataPlan data;
  NetworkPlan network;
  /// Of the loss that is trained.
  GradientOracle::Options objective;
  MethodPlan method;
  /// With the learning rate of TrainOptions::warmup_learning_rate.
  std::optional<MethodPlan> warmup_method;
  /// Decay of the moving average of the weights; 0: none.
  double average = 0;
  TrainOptions train;
  int64_t eval_every = 1;
  /// Groups of quantities to measure while training.
  std::vector<std::string> metric_groups;
  int64_t metrics_every = 1;
  MeasureOptions measuring;
  CheckpointSchedule checkpoints;
};

/// `dataset` says how many samples there are. What is wrong with the config is an Error that names the key.
RunPlan resolve(const RunConfig& config, const DatasetInfo& dataset);

// Parts of it, for those who train nothing.
DataPlan resolve_data(const RunConfig& config, const DatasetInfo& dataset);
NetworkPlan resolve_network(const RunConfig& config, const DatasetInfo& dataset);
/// The method of the config for training on n samples.
MethodPlan resolve_method(const RunConfig& config, int64_t n);
MeasureOptions resolve_measuring(const RunConfig& config);

/// With weights that depend on the plan's seed alone.
Model build_network(const NetworkPlan& plan);

/// Sample gradients that the run will cost, with d parameters.
int64_t count_sample_gradients(const RunPlan& plan, int64_t parameters);

}  // namespace batchplus
