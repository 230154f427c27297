// What a run adds to its training besides the method: smoothed labels, averaged weights, cutout, mixup.

#include <gtest/gtest.h>

#include "checkpoint/storage.h"
#include "data/samples.h"
#include "networks/weight_file.h"
#include "objective/evaluate.h"
#include "run/run_data.h"
#include "support/running.h"
#include "support/short_run.h"

namespace batchplus {
namespace {

using testing::run_in_pieces;
using testing::run_once;
using testing::Scratch;
using testing::short_config;
using testing::timeless_records;

struct Addition {
  std::string name;
  void (*apply)(RunConfig& config);
};

class EveryAddition : public ::testing::TestWithParam<Addition> {};

TEST_P(EveryAddition, ChangesTheRunAndLastsThroughResumes) {
  for (const char* model : {"mlp", "smallcnn"}) {
    SCOPED_TRACE(model);
    const Scratch scratch;
    RunConfig config = short_config(model, "bp-svrg");
    const Json without = run_once(config, scratch / "without").result;
    GetParam().apply(config);
    int pieces = 0;
    const Json whole = run_once(config, scratch / "whole").result;
    const Json resumed = run_in_pieces(config, scratch / "pieces", pieces).result;
    EXPECT_GE(pieces, 7);
    EXPECT_NE(whole["weights_sha256"], without["weights_sha256"]);
    EXPECT_EQ(resumed["weights_sha256"], whole["weights_sha256"]);
    EXPECT_EQ(timeless_records(scratch / "pieces"), timeless_records(scratch / "whole"));
    EXPECT_EQ(resumed["train_loss"], whole["train_loss"]);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Run, EveryAddition,
    ::testing::Values(Addition{"label_smoothing", [](RunConfig& config) { config.label_smoothing = 0.1; }},
                      Addition{"average", [](RunConfig& config) { config.average = 0.9; }},
                      Addition{"cutout", [](RunConfig& config) { config.cutout = 16; }},
                      Addition{"mixup", [](RunConfig& config) { config.mixup = 0.5; }},
                      Addition{"all_of_them",
                               [](RunConfig& config) {
                                 config.label_smoothing = 0.1;
                                 config.average = 0.9;
                                 config.cutout = 16;
                                 config.mixup = 0.5;
                                 config.update_rule = "adamw";
                                 config.outer_batch = "25";  // a remainder of 5
                               }}),
    [](const auto& instance) { return instance.param.name; });

/// Of a run's weights.pt.
Evaluation evaluate_weights(const RunConfig& config, const std::filesystem::path& run) {
  const RunPlan plan = resolve(config, find_dataset(config.dataset));
  const Dataset dataset = load_dataset(config, plan.data.dataset);
  const DatasetViews views = make_views(dataset, plan.data.views);
  const Model model = build_network(plan.network);
  const std::string file = (run / "weights.pt").string();
  load_weights(*model.module, read_weight_file(file), file);
  return evaluate(model, samples_of(views.test, plan.data.normalization, torch::kCPU, model.memory_format));
}

TEST(Average, IsWhatIsEvaluatedAndWrittenWhileTheWeightsTrainOn) {
  const Scratch scratch;
  RunConfig config = short_config("smallcnn", "bp-svrg");
  run_once(config, scratch / "plain");
  config.average = 0.9;
  const Json result = run_once(config, scratch / "averaged").result;
  const Evaluation averaged = evaluate_weights(config, scratch / "averaged");
  EXPECT_EQ(result["test_loss"], averaged.loss);
  EXPECT_EQ(result["test_accuracy"], averaged.accuracy);
  EXPECT_NE(averaged.loss, evaluate_weights(config, scratch / "plain").loss);
  // The checkpoint has the weights that train, and these are as without an average.
  const NamedTensors trained = read_contents(scratch / "averaged" / "checkpoint.pt").tensors;
  size_t compared = 0;
  for (const auto& [name, expected] : read_contents(scratch / "plain" / "checkpoint.pt").tensors) {
    for (const auto& [other, tensor] : trained) {
      if (other != name) continue;
      EXPECT_TRUE(tensor.equal(expected)) << name;
      ++compared;
    }
  }
  EXPECT_GT(compared, 10U);
}

TEST(LabelSmoothing, IsOfTheTrainingLossAlone) {
  const Scratch scratch;
  RunConfig config = short_config("mlp", "sgd");
  config.lr = 1e-30;  // no step moves a weight
  const Json plain = run_once(config, scratch / "plain").result;
  config.label_smoothing = 0.5;
  const Json smoothed = run_once(config, scratch / "smoothed").result;
  EXPECT_EQ(smoothed["weights_sha256"], plain["weights_sha256"]);
  for (const char* key : {"test_loss", "train_loss"}) EXPECT_EQ(smoothed[key], plain[key]) << key;
  EXPECT_NE(smoothed["running_loss"], plain["running_loss"]);
}

}  // namespace
}  // namespace batchplus
