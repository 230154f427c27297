#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace batchplus {

/// Everything that defines one training run. Each member is an option of `train` and a key of its TOML file;
/// config_fields() holds names, help and checks. It is what was asked for; run/run_plan.h has what that
/// means.
struct RunConfig {
  std::string dataset = "synthetic";
  std::string data_dir;
  int64_t train_limit = 0;
  int64_t test_limit = 0;
  int64_t validation = 0;
  int64_t split_seed = 0;
  std::string augment = "auto";
  int64_t cutout = 0;
  double mixup = 0;
  std::string normalize = "auto";
  std::string sampling = "epoch";

  std::string model = "mlp";
  std::optional<double> dropout;
  std::string normalization = "batch";
  std::string init;
  std::string kernels = "fast";
  /// Which bits own kernels give; those of this program (kernels/revision.h).
  int64_t kernels_revision = 2;

  std::string method = "bp-svrg";
  std::string coefficient;
  std::string update_rule;
  double momentum = 0.9;
  std::optional<double> beta1;
  std::optional<double> beta2;
  std::optional<double> epsilon;
  double radius = 0.05;
  double lr = 0.1;
  int64_t inner_batch = 128;
  std::string outer_batch;
  std::optional<int64_t> epochs;
  std::optional<double> budget_epochs;
  std::string schedule = "constant";
  double weight_decay = 0;
  double label_smoothing = 0;
  double average = 0;
  /// BatchNorm's moments are those of the samples of each of so many processes; 0: of the whole inner batch.
  int64_t local_batch_norm = 0;
  int64_t warmup_epochs = 0;
  std::string warmup_method = "sgd";
  std::optional<double> warmup_lr;
  std::string snapshot_gradients = "auto";
  std::string snapshot_memory = "2G";

  int64_t eval_every = 1;
  std::string metrics;
  int64_t metrics_every = 1;
  std::optional<int64_t> metrics_samples;
  std::string metrics_memory = "1G";
  std::string metrics_batchnorm = "eval";
  int64_t hessian_eigenvalues = 1;
  int64_t hessian_products = 30;
  int64_t trace_draws = 10;
  double sharpness_sigma = 1e-4;
  std::optional<double> sharpness_eta;
  int64_t sharpness_draws = 10;
  std::optional<double> pl_constant;
  int64_t seed = 1;
  std::string checkpoint_every = "1,10m";
  std::string out;
  std::string save_weights;
};

}  // namespace batchplus
