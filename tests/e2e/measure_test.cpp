// Measuring as a user does: while training, afterwards, and what cannot be measured.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "support/program.h"
#include "support/scratch.h"
#include "util/file.h"
#include "util/text.h"

namespace batchplus {
namespace {

using nlohmann::json;
using testing::batchplus;
using ::testing::HasSubstr;
using testing::result_of;
using testing::Scratch;

const std::vector<std::string> kAllMetrics = {"--metrics",          "all", "--metrics-samples", "100",
                                              "--sharpness-draws",  "2",   "--trace-draws",     "2",
                                              "--hessian-products", "4"};

/// A short run on the synthetic set, with BatchNorm, dropout and augmentation.
ProcessResult train(const std::vector<std::string>& options) {
  return batchplus(testing::with_options(
      {"train", "--model", "smallcnn:width=8", "--train-limit", "320", "--test-limit", "100", "--inner-batch",
       "32", "--epochs", "3", "--augment", "standard", "--quiet", "--json"},
      options));
}

std::vector<json> records(const Scratch& scratch, const std::string& run) {
  std::vector<json> all;
  for (const std::string& line : split(read_file(scratch / run / "metrics.jsonl"), '\n')) {
    if (!line.empty()) all.push_back(json::parse(line));
  }
  return all;
}

TEST(Metrics, LeaveTheTrainingAsItIsToTheBit) {
  for (const std::string method : {"bp-svrg", "nag", "modified-sgd"}) {
    std::vector<std::string> with = kAllMetrics;
    with.insert(with.end(), {"--method", method});
    const json measured = result_of(train(with));
    const json plain = result_of(train({"--method", method}));
    EXPECT_EQ(measured["weights_sha256"], plain["weights_sha256"]) << method;
    EXPECT_EQ(measured["gradient_evaluations"], plain["gradient_evaluations"]) << method;
    EXPECT_EQ(measured["test_loss"], plain["test_loss"]) << method;
  }
}

TEST(Metrics, AreRecordedEachEpochAndTheLastOnesAreInTheResult) {
  const Scratch scratch;
  const json result =
      result_of(train({"--metrics", "gradient-norms,gaps,control-variate", "--out", scratch / "run"}));
  const auto lines = records(scratch, "run");
  ASSERT_EQ(lines.size(), 3);
  for (const json& record : lines) {
    for (const char* name :
         {"mean_squared_gradient_norm", "squared_full_gradient_norm", "gradient_variance", "loss_gap",
          "accuracy_gap", "control_variate_correlation", "control_variate_variance_ratio",
          "control_variate_optimal_coefficient", "snapshot_distance"}) {
      EXPECT_TRUE(record[name]["value"].is_number()) << name;
    }
    EXPECT_FALSE(record.contains("hessian_top"));
  }
  EXPECT_EQ(result["loss_gap"], lines.back()["loss_gap"]);
  EXPECT_NEAR(result["loss_gap"]["value"].get<double>(),
              result["test_loss"].get<double>() - result["train_loss"].get<double>(), 1e-9);
}

TEST(Metrics, EveryOtherEpochAndAlwaysTheLast) {
  const Scratch scratch;
  result_of(train({"--metrics", "gaps", "--metrics-every", "2", "--out", scratch / "run"}));
  std::vector<bool> is_measured;
  for (const json& record : records(scratch, "run")) is_measured.push_back(record.contains("loss_gap"));
  EXPECT_EQ(is_measured, (std::vector<bool>{false, true, true}));
}

TEST(Measure, OfARunRepeatsItsLastRecord) {
  const Scratch scratch;
  std::vector<std::string> options = kAllMetrics;
  options.insert(options.end(), {"--out", scratch / "run"});
  const json trained = result_of(train(options));
  const json measured = result_of(batchplus({"measure", scratch / "run", "--quiet", "--json"}));
  for (const char* name : {"mean_squared_gradient_norm", "squared_full_gradient_norm", "gradient_variance",
                           "loss_gap", "accuracy_gap", "hessian_top", "hessian_trace", "sharpness_gaussian",
                           "sharpness_data", "sharpness_data_second_order", "sharpness_data_bound",
                           "bound_terms", "noise_penalty", "drift_penalty"}) {
    EXPECT_EQ(measured[name], trained[name]) << name;
  }
}

// The norm of one sample's gradient depends on what BatchNorm normalises by.
TEST(Metrics, SayWhichStatisticsANormIsMeasuredBy) {
  const Scratch scratch;
  const auto printed = [&](std::vector<std::string> arguments) {
    const ProcessResult process = batchplus(arguments);
    EXPECT_EQ(process.exit_code, 0) << process.output;
    return process.output;
  };
  const std::string trained = printed({"train", "--model", "smallcnn:width=8", "--train-limit", "320",
                                       "--test-limit", "100", "--inner-batch", "32", "--epochs", "1",
                                       "--metrics", "gradient-norms,gaps", "--out", scratch / "run"});
  EXPECT_THAT(trained, ::testing::ContainsRegex("gradient_variance [0-9.e+-]+  \\(evaluation statistics\\)"
                                                "  loss_gap"));
  const std::string measured =
      printed({"measure", scratch / "run", "--quantities", "gradient-norms", "--per-layer"});
  EXPECT_THAT(measured, HasSubstr("samples 320, evaluation statistics"));
  EXPECT_THAT(measured, HasSubstr("of each layer (evaluation statistics)"));
  EXPECT_THAT(
      printed({"measure", scratch / "run", "--quantities", "gradient-norms", "--metrics-batchnorm", "batch"}),
      HasSubstr("batch statistics"));
}

TEST(Measure, OfAWeightFileNeedsToKnowNetworkAndData) {
  const Scratch scratch;
  const std::string weights = scratch / "w.pt";
  result_of(train({"--save-weights", weights}));
  const std::vector<std::string> base = {"measure", "--weights", weights, "--quantities",
                                         "gaps",    "--quiet",   "--json"};
  const ProcessResult without = batchplus(base);
  EXPECT_EQ(without.exit_code, 2);
  EXPECT_THAT(without.output, HasSubstr("--model"));
  std::vector<std::string> with = base;
  with.insert(with.end(), {"--model", "smallcnn:width=8", "--dataset", "synthetic", "--train-limit", "320"});
  EXPECT_TRUE(result_of(batchplus(with))["loss_gap"]["value"].is_number());
}

// bp-svrg with K = 2: (eta/4) 1.5 sigma^2/b and (eta/4) ||grad F||^2, with the learning rate of the last
// step.
TEST(Metrics, ImplicitPenaltiesFollowTheLearningRateOfTheMoment) {
  const Scratch scratch;
  const json result = result_of(train({"--metrics", "gradient-norms,gaps,implicit-regularization", "--lr",
                                       "0.2", "--schedule", "cosine", "--out", scratch / "run"}));
  const auto lines = records(scratch, "run");
  for (const json& record : lines) {
    const double eta = record["lr"];
    const double noise = record["noise_penalty"]["value"];
    const double drift = record["drift_penalty"]["value"];
    const double loss = record["loss_gap"]["train_loss"];
    EXPECT_NEAR(noise, eta / 4 * 1.5 * record["gradient_variance"]["value"].get<double>() / 32, 1e-9 * noise);
    EXPECT_NEAR(drift, eta / 4 * record["squared_full_gradient_norm"]["value"].get<double>(), 1e-9 * drift);
    // F of the pass for norms and F of the evaluation, both in single precision.
    EXPECT_NEAR(record["noise_penalty"]["share"].get<double>(), noise / loss, 1e-4 * noise / loss);
    EXPECT_NEAR(record["drift_penalty"]["share"].get<double>(), drift / loss, 1e-4 * drift / loss);
  }
  EXPECT_LT(lines.back()["lr"], lines.front()["lr"]);
  const auto measure = [&](const std::vector<std::string>& options) {
    std::vector<std::string> arguments = {
        "measure", scratch / "run", "--quantities", "implicit-regularization", "--quiet", "--json"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return result_of(batchplus(arguments));
  };
  EXPECT_EQ(measure({})["noise_penalty"], result["noise_penalty"]);
  EXPECT_NEAR(measure({"--lr", "0.2"})["noise_penalty"]["value"].get<double>(),
              0.2 / result["lr"].get<double>() * result["noise_penalty"]["value"].get<double>(), 1e-6);
}

TEST(Measure, ImplicitPenaltiesOfAWeightFileNeedToKnowTheTraining) {
  const Scratch scratch;
  const std::string weights = scratch / "w.pt";
  result_of(train({"--save-weights", weights}));
  const auto measure = [&](const std::vector<std::string>& options) {
    std::vector<std::string> arguments = {
        "measure",       "--weights", weights,   "--model", "smallcnn:width=8", "--dataset", "synthetic",
        "--train-limit", "320",       "--quiet", "--json"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return batchplus(arguments);
  };
  const ProcessResult without = measure({"--quantities", "implicit-regularization", "--lr", "0.1"});
  EXPECT_EQ(without.exit_code, 2);
  EXPECT_THAT(without.output, HasSubstr("give --method, --inner-batch"));
  const json found =
      result_of(measure({"--quantities", "gradient-norms,implicit-regularization", "--lr", "0.1", "--method",
                         "b-svrg", "--inner-batch", "32", "--outer-batch", "4x", "--coefficient", "3"}));
  EXPECT_DOUBLE_EQ(found["noise_penalty"]["factor"].get<double>(), 1 + 3 * 0.75);
  EXPECT_NEAR(found["noise_penalty"]["value"].get<double>(),
              0.1 / 4 * 3.25 * found["gradient_variance"]["value"].get<double>() / 32, 1e-9);
  const ProcessResult sam = measure(
      {"--quantities", "implicit-regularization", "--lr", "0.1", "--method", "sam", "--inner-batch", "32"});
  EXPECT_EQ(sam.exit_code, 2);
  EXPECT_THAT(sam.output, HasSubstr("no factor for sam"));
}

// A sweep with every method measures what there is; what there is not is said once.
TEST(Metrics, LeaveOutImplicitPenaltiesWhereTheTheoryHasNone) {
  const ProcessResult process =
      batchplus({"train", "--train-limit", "320", "--test-limit", "100", "--epochs", "2", "--method", "nag",
                 "--inner-batch", "32", "--metrics", "gaps,implicit-regularization", "--json"});
  EXPECT_EQ(process.exit_code, 0) << process.output;
  EXPECT_THAT(process.output, HasSubstr("note: implicit-regularization: the modified loss is that of plain"));
  EXPECT_EQ(process.output.find("noise_penalty"), std::string::npos);
}

TEST(Measure, RefusesADamagedRunByTheNameOfTheFile) {
  const Scratch scratch;
  result_of(train({"--out", scratch / "run", "--epochs", "1"}));
  result_of(train({"--out", scratch / "other", "--epochs", "1", "--seed", "2"}));
  const auto measure = [&](std::vector<std::string> options) {
    options.insert(options.begin(),
                   {"measure", scratch / "run", "--quantities", "gaps", "--quiet", "--json"});
    return batchplus(options);
  };
  const auto expect_refused = [&](const char* file, const std::string& content) {
    const std::filesystem::path path = scratch / "run" / file;
    const std::string whole = read_file(path);
    write_file_atomically(path, content);
    const ProcessResult process = measure({});
    EXPECT_EQ(process.exit_code, 2) << file << process.output;
    EXPECT_THAT(process.output, HasSubstr(path.string()));
    write_file_atomically(path, whole);
  };
  const auto with = [&](const char* file, const std::string& before, const std::string& after) {
    std::string content = read_file(scratch / "run" / file);
    const size_t position = content.find(before);
    EXPECT_NE(position, std::string::npos) << file << " has no " << before;
    return content.replace(position, before.size(), after);
  };
  expect_refused("config.toml", with("config.toml", "inner_batch = 32", "inner_batch = 64"));
  expect_refused("status.json", with("status.json", "\"done\"", "\"gone\""));
  // A file without a fault of its own, but not the weights that the run ended with.
  expect_refused("weights.pt", read_file(scratch / "other" / "weights.pt"));
  EXPECT_TRUE(result_of(measure({}))["loss_gap"]["value"].is_number()) << "all is as it was";
  EXPECT_TRUE(
      result_of(measure({"--weights", scratch / "other" / "weights.pt"}))["loss_gap"]["value"].is_number())
      << "somebody else's weights may be measured when they are asked for";
}

TEST(Measure, TakesARunFromBeforeChecksums) {
  const Scratch scratch;
  result_of(train({"--out", scratch / "run", "--epochs", "1"}));
  write_file_atomically(scratch / "run" / "status.json", R"({"format_version": 1, "status": "done"})");
  const json result =
      result_of(batchplus({"measure", scratch / "run", "--quantities", "gaps", "--quiet", "--json"}));
  EXPECT_TRUE(result["loss_gap"]["value"].is_number());
}

TEST(Measure, WritesNormsOfEverySampleAndLayer) {
  const Scratch scratch;
  result_of(train({"--out", scratch / "run"}));
  const json result =
      result_of(batchplus({"measure", scratch / "run", "--quantities", "gradient-norms", "--out",
                           scratch / "measured", "--per-layer", "--quiet", "--json"}));
  const auto lines = split(read_file(scratch / "measured" / "sample_norms.csv"), '\n');
  double sum = 0;
  int64_t samples = 0;
  for (size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].empty()) continue;
    sum += parse_number(split(lines[i], ',').back(), "csv");
    ++samples;
  }
  const double mean = result["mean_squared_gradient_norm"]["value"];
  EXPECT_EQ(samples, 320);
  EXPECT_NEAR(sum / static_cast<double>(samples), mean, 1e-6 * mean);
  double layers = 0;
  for (const auto& [name, value] : result["layers"].items()) layers += value.get<double>();
  EXPECT_NEAR(layers, mean, 1e-9 * mean);
  EXPECT_EQ(
      json::parse(read_file(scratch / "measured" / "measure.json"))["mean_squared_gradient_norm"]["value"],
      mean);
}

TEST(Measure, NamesEverySampleByItsRecord) {
  const Scratch scratch;
  const std::string weights = scratch / "w.pt";
  result_of(train({"--save-weights", weights}));
  const auto norms_by_record = [&](const std::vector<std::string>& options) {
    const std::string out = scratch / fmt::format("measured-{}", options.size());
    result_of(batchplus(testing::with_options(
        {"measure", "--weights", weights, "--model", "smallcnn:width=8", "--dataset", "synthetic",
         "--quantities", "gradient-norms", "--out", out, "--quiet", "--json"},
        options)));
    const auto lines = split(read_file(std::filesystem::path(out) / "sample_norms.csv"), '\n');
    EXPECT_EQ(lines[0], "record,loss,squared_gradient_norm");
    std::map<int64_t, double> norms;
    for (size_t i = 1; i + 1 < lines.size(); ++i) {
      const auto fields = split(lines[i], ',');
      norms[parse_integer(fields[0], "csv")] = parse_number(fields[2], "csv");
    }
    return norms;
  };
  // In file order the first 2,000 records are just these.
  const auto first = norms_by_record({"--sampling", "sequential", "--train-limit", "2000"});
  ASSERT_EQ(first.size(), 2000U);
  EXPECT_EQ(first.begin()->first, 0);
  EXPECT_EQ(first.rbegin()->first, 1999);
  // Others are drawn from all 10,000.
  const auto drawn = norms_by_record({"--metrics-samples", "200"});
  ASSERT_EQ(drawn.size(), 200U);
  int common = 0;
  for (const auto& [record, norm] : drawn) {
    const auto same = first.find(record);
    if (same == first.end()) continue;
    ++common;
    EXPECT_NEAR(norm, same->second, 1e-4 * norm + 1e-9) << record;
  }
  EXPECT_GT(common, 10) << "a fifth of 200 is expected";
}

TEST(Measure, OfOneSampleHasNoStandardError) {
  const Scratch scratch;
  result_of(train({"--out", scratch / "run", "--epochs", "1"}));
  const ProcessResult one = batchplus({"measure", scratch / "run", "--quantities", "gradient-norms,sharpness",
                                       "--sharpness-draws", "2", "--metrics-samples", "1", "--quiet"});
  EXPECT_EQ(one.exit_code, 0);
  EXPECT_THAT(one.output, HasSubstr("(one draw: no standard error)"));
  EXPECT_THAT(one.output, ::testing::Not(HasSubstr("nan")));
  // Rounding leaves a little of ||grad f||^2 - ||grad f||^2, above or below zero.
  const json alone = result_of(batchplus({"measure", scratch / "run", "--quantities",
                                          "gradient-norms,noise-scale,implicit-regularization",
                                          "--metrics-samples", "1", "--quiet", "--json"}));
  for (const char* name : {"gradient_variance", "gradient_noise_scale", "noise_penalty"})
    EXPECT_EQ(alone[name]["value"], 0.0) << name;
  EXPECT_THAT(alone["notes"].dump(), HasSubstr("one sample has no variance"));

  const ProcessResult far = batchplus({"measure", scratch / "run", "--quantities", "sharpness",
                                       "--metrics-samples", "20", "--sharpness-eta", "1e30", "--quiet"});
  EXPECT_EQ(far.exit_code, 0);
  EXPECT_THAT(far.output, HasSubstr("note: sharpness_data is not finite: steps of sharpness_eta 1e+30"));
  EXPECT_THAT(far.output, ::testing::Not(HasSubstr("one draw")));
}

TEST(Measure, RefusesBadInputWithAReason) {
  const Scratch scratch;
  result_of(train({"--out", scratch / "run"}));
  const auto expect_refused = [&](std::vector<std::string> options, const std::string& words) {
    options.insert(options.begin(), {"measure", scratch / "run", "--quiet"});
    const ProcessResult process = batchplus(options);
    EXPECT_EQ(process.exit_code, 2) << process.output;
    EXPECT_THAT(process.output, HasSubstr(words));
  };
  expect_refused({"--quantities", "gradiant-norms"}, "did you mean 'gradient-norms'?");
  expect_refused({"--sharpness-sigma", "0"}, "more than zero");
  expect_refused({"--sharpness-eta", "0"}, "more than zero");
  expect_refused({"--metrics-samples", "321"}, "there are 320 training samples");
  expect_refused({"--metrics-samples", "-1"}, "zero or more");
  expect_refused({"--quantities", "hessian", "--hessian-eigenvalues", "999999999"}, "fewer eigenvalues");
  expect_refused({"--metrics-batchnorm", "train"}, "not defined in training mode");
  expect_refused({"--weights", scratch / "missing.pt"}, "missing.pt");
  expect_refused({"--trace-draws", "1"}, "two or more");
  expect_refused({"--quantities", "gaps", "--sharpness-eta", "0.1"}, "measure sharpness too");
  expect_refused({"--quantities", "sharpness", "--trace-draws", "3"}, "measure hessian too");
  std::filesystem::remove(scratch / "run" / "weights.pt");
  expect_refused({}, "no final weights");
  expect_refused({}, "train --resume --out " + (scratch / "run").string());
  const ProcessResult nothing = batchplus({"measure", scratch / "nowhere"});
  EXPECT_EQ(nothing.exit_code, 2);
  EXPECT_THAT(nothing.output, HasSubstr("nowhere"));
}

TEST(Measure, OfARunWithoutResultNamesTheCheckpointThatItHas) {
  const Scratch scratch;
  const auto measure = [&] { return batchplus({"measure", scratch / "run"}).output; };
  const ProcessResult diverged = train({"--out", scratch / "run", "--lr", "1e30"});
  EXPECT_NE(diverged.exit_code, 2) << diverged.output;
  EXPECT_THAT(measure(), HasSubstr("the run is diverged"));
  EXPECT_EQ(measure().find("checkpoint.pt") != std::string::npos,
            std::filesystem::exists(scratch / "run" / "checkpoint.pt"));
  std::filesystem::remove(scratch / "run" / "checkpoint.pt");
  EXPECT_THAT(measure(), ::testing::Not(HasSubstr("checkpoint")));
  write_file_atomically(scratch / "run" / "checkpoint.pt", "");
  EXPECT_THAT(measure(), HasSubstr("--weights " + (scratch / "run" / "checkpoint.pt").string()));
}

// What a config cannot measure is found before the first step, not after the first epoch.
TEST(Metrics, ThatCannotBeMeasuredStopARunBeforeItBegins) {
  const Scratch scratch;
  const ProcessResult process = train({"--metrics", "hessian", "--hessian-eigenvalues", "99999999",
                                       "--hessian-products", "99999999", "--out", scratch / "run"});
  EXPECT_EQ(process.exit_code, 2);
  EXPECT_THAT(process.output, HasSubstr("fewer eigenvalues"));
  EXPECT_FALSE(std::filesystem::exists(scratch / "run"));
}

}  // namespace
}  // namespace batchplus
