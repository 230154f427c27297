// Evaluating weight files as a user does: real processes, files, pictures, exit codes and JSON.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "formats/png_image.h"
#include "networks/weight_file.h"
#include "support/program.h"
#include "support/scratch.h"
#include "util/file.h"
#include "util/text.h"

namespace batchplus {
namespace {

using nlohmann::json;
using testing::batchplus;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Scratch;

/// Trains briefly on the synthetic set; the result, with the weights at `weights`.
json train(const std::string& weights) {
  const ProcessResult process =
      batchplus({"train", "--model", "smallcnn", "--train-limit", "640", "--test-limit", "300", "--epochs",
                 "2", "--save-weights", weights, "--quiet", "--json"});
  EXPECT_EQ(process.exit_code, 0) << process.output;
  return json::parse(process.output);
}

TEST(Eval, RepeatsWhatTrainingSaid) {
  const Scratch scratch;
  const std::string weights = (scratch / "w.pt").string();
  const json trained = train(weights);
  const ProcessResult process =
      batchplus({"eval", "--weights", weights, "--model", "smallcnn", "--dataset", "synthetic",
                 "--test-limit", "300", "--json", "--out", (scratch / "out").string()});
  ASSERT_EQ(process.exit_code, 0) << process.output;
  const json result = json::parse(process.output);
  EXPECT_EQ(result["samples"], 300);
  EXPECT_EQ(result["accuracy"], trained["test_accuracy"]);
  EXPECT_EQ(result["loss"], trained["test_loss"]);
  EXPECT_EQ(result["class_accuracy"].size(), 10U);

  // The matrix holds each sample once, and its diagonal the correct ones.
  const auto lines = split(read_file(scratch / "out" / "confusion.csv"), '\n');
  ASSERT_EQ(lines.size(), 12U);  // a header, ten classes, and what follows the last newline
  int64_t all = 0;
  int64_t correct = 0;
  for (size_t truth = 0; truth < 10; ++truth) {
    const auto fields = split(lines[truth + 1], ',');
    ASSERT_EQ(fields.size(), 11U);
    for (size_t prediction = 0; prediction < 10; ++prediction) {
      const int64_t count = parse_integer(fields[prediction + 1], "confusion.csv");
      all += count;
      if (truth == prediction) correct += count;
    }
  }
  EXPECT_EQ(all, 300);
  EXPECT_DOUBLE_EQ(100.0 * static_cast<double>(correct) / 300, result["accuracy"].get<double>());
  EXPECT_GT(decode_png(read_file(scratch / "out" / "confusion.png"), "picture").width, 460);
}

TEST(Eval, NotesThatTheRunOfTheWeightsNormalisedOtherwise) {
  const Scratch scratch;
  const std::string run = (scratch / "run").string();
  const ProcessResult trained = batchplus({"train", "--model", "smallcnn", "--train-limit", "256", "--epochs",
                                           "1", "--normalize", "none", "--out", run, "--quiet"});
  ASSERT_EQ(trained.exit_code, 0) << trained.output;
  const auto printed = [&](std::vector<std::string> command) {
    command.insert(command.end(),
                   {"--weights", run + "/weights.pt", "--model", "smallcnn", "--dataset", "synthetic"});
    const ProcessResult process = batchplus(command);
    EXPECT_EQ(process.exit_code, 0) << process.output;
    return process.output;
  };
  const std::string note = "has normalize = 0,0,0/1,1,1, and here it is ";
  EXPECT_THAT(printed({"eval"}), HasSubstr(note));
  EXPECT_THAT(printed({"eval", "--normalize", "none"}), Not(HasSubstr(note)));
  EXPECT_THAT(printed({"measure", "--train-limit", "256", "--quantities", "gaps"}), HasSubstr(note));
}

TEST(Eval, RefusesWeightsOfAnotherNetworkAndListsTheKeys) {
  const Scratch scratch;
  const std::string weights = (scratch / "w.pt").string();
  train(weights);
  const auto eval = [&](const std::string& file, const std::string& model) {
    return batchplus({"eval", "--weights", file, "--model", model, "--dataset", "synthetic"});
  };
  const ProcessResult other = eval(weights, "resnet20");
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.output, HasSubstr("missing layer1.0.conv1.weight"));
  EXPECT_THAT(other.output, HasSubstr("unexpected conv2.weight, bn2.weight, bn2.bias and 13 more"));
  EXPECT_EQ(eval((scratch / "none.pt").string(), "smallcnn").exit_code, 2);
  EXPECT_EQ(eval(weights, "smallcn").exit_code, 2);
}

TEST(Eval, OfWeightsThatGiveNoNumbersFails) {
  const Scratch scratch;
  const std::string file = (scratch / "w.pt").string();
  train(file);
  const auto eval_with = [&](double value) {
    StateDict state = read_weights(file);
    for (auto& [name, tensor] : state) {
      if (name == "fc2.weight" || name == "fc1.weight") tensor.fill_(value);
    }
    write_weights(scratch / "changed.pt", state);
    return batchplus({"eval", "--weights", scratch / "changed.pt", "--model", "smallcnn", "--dataset",
                      "synthetic", "--test-limit", "300", "--out", scratch / "out"});
  };
  const ProcessResult nan = eval_with(std::nan(""));
  EXPECT_EQ(nan.exit_code, 2) << "the input is bad";
  EXPECT_THAT(nan.output, HasSubstr("weights are NaN or infinite"));
  EXPECT_THAT(nan.output, HasSubstr("fc1.weight"));
  const ProcessResult large = eval_with(3e38);
  EXPECT_EQ(large.exit_code, 1) << "the input is fine, and nothing comes of it" << large.output;
  EXPECT_THAT(large.output, HasSubstr("outputs are not finite"));
  EXPECT_THAT(large.output, HasSubstr("over 300 samples"));
  EXPECT_FALSE(std::filesystem::exists(scratch / "out" / "eval.json"));
  for (const char* quantities : {"all", "gaps", "gradient-norms", "hessian", "sharpness"}) {
    const ProcessResult measured =
        batchplus({"measure", "--weights", scratch / "changed.pt", "--model", "smallcnn", "--dataset",
                   "synthetic", "--train-limit", "320", "--test-limit", "300", "--quantities", quantities,
                   "--out", scratch / "measured"});
    EXPECT_EQ(measured.exit_code, large.exit_code) << quantities << measured.output;
    EXPECT_THAT(measured.output, HasSubstr("outputs are not finite")) << quantities;
    EXPECT_THAT(measured.output, HasSubstr("too large: take weights from before"));
    EXPECT_FALSE(std::filesystem::exists(scratch / "measured" / "measure.json"));
  }
}

// The network computes in single precision.
TEST(Eval, MeasureAndTrainRefuseWeightsThatAreFiniteInDoubleAlone) {
  const Scratch scratch;
  const std::string file = (scratch / "w.pt").string();
  train(file);
  StateDict state = read_weights(file);
  for (auto& [name, tensor] : state) {
    if (name != "fc2.bias") continue;
    tensor = tensor.to(torch::kFloat64);
    tensor[0] = 1e300;
  }
  write_weights(file, state);
  for (const std::vector<std::string>& command : {std::vector<std::string>{"eval", "--weights", file},
                                                  {"measure", "--weights", file},
                                                  {"train", "--epochs", "1", "--init", file}}) {
    std::vector<std::string> options = command;
    options.insert(options.end(), {"--model", "smallcnn", "--dataset", "synthetic", "--test-limit", "300"});
    const ProcessResult refused = batchplus(options);
    EXPECT_EQ(refused.exit_code, 2) << command.front() << refused.output;
    EXPECT_THAT(refused.output, HasSubstr("1 of 10 values of fc2.bias")) << command.front();
    EXPECT_THAT(refused.output, HasSubstr("too large for single precision")) << command.front();
  }
}

TEST(Eval, NotesThatACheckpointHasNotTheAverage) {
  const Scratch scratch;
  const auto train_once = [](std::vector<std::string> more) {
    more.insert(more.begin(),
                {"train", "--model", "mlp", "--train-limit", "320", "--test-limit", "100", "--epochs", "1"});
    return batchplus(more);
  };
  EXPECT_EQ(train_once({"--average", "0.9", "--out", scratch / "run", "--quiet"}).exit_code, 0);
  const auto eval = [&](const std::string& file) {
    return batchplus({"eval", "--weights", scratch / "run" / file, "--model", "mlp", "--dataset", "synthetic",
                      "--test-limit", "100"});
  };
  EXPECT_THAT(eval("checkpoint.pt").output,
              HasSubstr("note: the weights of this checkpoint are those of training, "
                        "not their average"));
  EXPECT_THAT(eval("weights.pt").output, ::testing::Not(HasSubstr("note")));
  const std::string checkpoint = scratch / "run" / "checkpoint.pt";
  EXPECT_THAT(train_once({"--init", checkpoint, "--out", scratch / "next"}).output,
              HasSubstr("not their average"));
  EXPECT_THAT(read_file(scratch / "next" / "provenance.json"), HasSubstr("init_note"));
  const ProcessResult measured =
      batchplus({"measure", "--weights", checkpoint, "--model", "mlp", "--dataset", "synthetic",
                 "--train-limit", "320", "--test-limit", "100", "--quantities", "gaps", "--quiet", "--json"});
  EXPECT_THAT(json::parse(measured.output)["notes"].dump(), HasSubstr("not their average"));
}

TEST(Eval, ReplacesAnEarlierEvaluationAndNothingElse) {
  const Scratch scratch;
  const std::string weights = (scratch / "w.pt").string();
  train(weights);
  const auto eval = [&] {
    return batchplus({"eval", "--weights", weights, "--model", "smallcnn", "--dataset", "synthetic",
                      "--test-limit", "300", "--out", scratch / "out"});
  };
  make_directories(scratch / "out");
  write_file_atomically(scratch / "out" / "confusion.csv", "mine");
  const ProcessResult refused = eval();
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.output, HasSubstr("not of an earlier evaluation"));
  EXPECT_EQ(read_file(scratch / "out" / "confusion.csv"), "mine");
  std::filesystem::remove(scratch / "out" / "confusion.csv");
  EXPECT_EQ(eval().exit_code, 0);
  EXPECT_EQ(eval().exit_code, 0) << "its own files it replaces";
}

TEST(Models, ShowListsTheLayersOfANetworkWithItsSettings) {
  const ProcessResult process = batchplus({"models", "show", "resnet20:depth=8", "--classes", "7", "--json"});
  ASSERT_EQ(process.exit_code, 0) << process.output;
  const json network = json::parse(process.output);
  EXPECT_EQ(network["layers"].front()["name"], "conv1");
  EXPECT_EQ(network["layers"].back()["output"], std::vector<int>{7});
  EXPECT_EQ(batchplus({"models", "show", "resnet20:depth=9"}).exit_code, 2);
}

}  // namespace
}  // namespace batchplus
