// Which weights and which data `measure` takes for those of a run.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/image_files.h"
#include "support/program.h"
#include "support/scratch.h"
#include "util/file.h"

namespace batchplus {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::batchplus;
using ::testing::HasSubstr;
using testing::result_of;
using testing::Scratch;
using testing::with_options;

ProcessResult train(const std::vector<std::string>& options) {
  return batchplus(with_options({"train", "--train-limit", "320", "--test-limit", "100", "--inner-batch",
                                 "32", "--epochs", "2", "--quiet", "--json"},
                                options));
}

// A folder holds one measurement, which says whose it is.
TEST(Measure, LeavesNothingOfAnEarlierMeasurement) {
  const Scratch scratch;
  const std::string trained = result_of(train({"--out", scratch / "run", "--epochs", "1"}))["weights_sha256"];
  const auto measure = [&](const std::string& quantities) {
    return result_of(batchplus({"measure", scratch / "run", "--quantities", quantities, "--out",
                                scratch / "measured", "--quiet", "--json"}));
  };
  measure("gradient-norms");
  EXPECT_TRUE(fs::exists(scratch / "measured" / "layer_norms.csv"));
  measure("gaps");
  EXPECT_FALSE(fs::exists(scratch / "measured" / "sample_norms.csv"));
  EXPECT_FALSE(fs::exists(scratch / "measured" / "layer_norms.csv"));
  fs::create_symlink("elsewhere", scratch / "measured" / "layer_norms.csv");
  const ProcessResult linked =
      batchplus({"measure", scratch / "run", "--quantities", "gaps", "--out", scratch / "measured"});
  EXPECT_EQ(linked.exit_code, 2);
  EXPECT_EQ(linked.output.find("gaps measured"), std::string::npos) << "nothing is measured for nothing";
  const json subject = json::parse(read_file(scratch / "measured" / "measure.json"))["subject"];
  EXPECT_EQ(subject["run"], (scratch / "run").string());
  EXPECT_EQ(subject["weights"], (scratch / "run" / "weights.pt").string());
  EXPECT_EQ(subject["weights_sha256"], trained);
  const json provenance = json::parse(read_file(scratch / "run" / "provenance.json"));
  EXPECT_EQ(subject["inputs"], provenance["inputs"]) << "it is the data of the run";
}

// Nobody knows what a run without digests was trained on.
TEST(Measure, SaysWhenTheDataCannotBeCompared) {
  const Scratch scratch;
  result_of(train({"--out", scratch / "run", "--epochs", "1"}));
  const std::vector<std::string> measure = {"measure", scratch / "run", "--quantities", "gaps", "--quiet"};
  EXPECT_THAT(batchplus(measure).output, ::testing::Not(HasSubstr("no digests")));
  fs::remove(scratch / "run" / "provenance.json");
  const ProcessResult measured = batchplus(measure);
  EXPECT_EQ(measured.exit_code, 0) << measured.output;
  EXPECT_THAT(measured.output, HasSubstr("note: the run has no digests of its samples"));
}

// Tables of somebody's own are not those of an earlier measurement.
TEST(Measure, ReplacesMeasurementsAlone) {
  const Scratch scratch;
  result_of(train({"--out", scratch / "run", "--epochs", "1"}));
  fs::create_directory(scratch / "mine");
  write_file_atomically(scratch / "mine" / "layer_norms.csv", "mine");
  const ProcessResult measured =
      batchplus({"measure", scratch / "run", "--quantities", "gaps", "--out", scratch / "mine"});
  EXPECT_EQ(measured.exit_code, 2);
  EXPECT_THAT(measured.output, HasSubstr("not of an earlier measurement"));
  EXPECT_EQ(read_file(scratch / "mine" / "layer_norms.csv"), "mine");
}

// Weights of the shorter run are not those of the longer one that it is becoming.
TEST(Measure, TakesNoRunThatIsGoingOn) {
  const Scratch scratch;
  result_of(train({"--out", scratch / "run"}));
  write_file_atomically(scratch / "run" / "status.json", R"({"format_version": 1, "status": "interrupted"})");
  const ProcessResult measured = batchplus({"measure", scratch / "run"});
  EXPECT_EQ(measured.exit_code, 2);
  EXPECT_THAT(measured.output, HasSubstr("the run is interrupted"));
}

// Other pictures under the same name, in the training set or in the test set.
TEST(Measure, TakesTheDataOfTheRun) {
  for (const std::string file : {"data_batch_2.bin", "test_batch.bin"}) {
    const Scratch scratch;
    const fs::path folder = scratch / "cifar-10-batches-bin";
    testing::write_cifar10(folder, 10);
    const std::vector<std::string> options = {"--dataset",     "cifar10", "--data-dir",    scratch.path(),
                                              "--inner-batch", "10",      "--train-limit", "0",
                                              "--test-limit",  "0"};
    result_of(train(with_options(options, {"--out", scratch / "run"})));
    const auto measure = [&](const std::vector<std::string>& more) {
      std::vector<std::string> command = {"measure", scratch / "run", "--quantities", "gaps",
                                          "--quiet", "--data-dir",    scratch.path()};
      command.insert(command.end(), more.begin(), more.end());
      return batchplus(command);
    };
    EXPECT_EQ(measure({}).exit_code, 0);
    std::string pictures = read_file(folder / file);
    pictures[100] = static_cast<char>(pictures[100] ^ 1);
    write_file_atomically(folder / file, pictures);
    const ProcessResult changed = measure({});
    EXPECT_EQ(changed.exit_code, 2);
    EXPECT_THAT(changed.output, HasSubstr("data is not what the run began with"));
    const bool is_test = file == "test_batch.bin";
    EXPECT_EQ(measure({"--test-limit", "5"}).exit_code, is_test ? 0 : 2)
        << "other test samples were asked for";
    EXPECT_EQ(measure({"--train-limit", "20"}).exit_code, is_test ? 2 : 0) << "other training samples were";
    EXPECT_EQ(measure({"--weights", scratch / "run" / "checkpoint.pt"}).exit_code, 2)
        << "other weights, and the data of the run";
    const ProcessResult extended = batchplus({"train", "--resume", "--out", scratch / "run", "--data-dir",
                                              scratch.path(), "--extend", "5", "--quiet"});
    EXPECT_EQ(extended.exit_code, 2);
    EXPECT_THAT(extended.output, HasSubstr("data is not what the run began with"));
  }
}

TEST(Measure, OffersNoOptionThatChangesNothing) {
  const Scratch scratch;
  result_of(train({"--out", scratch / "run", "--epochs", "1"}));
  const std::vector<std::string> eval = {
      "eval", "--weights", scratch / "run" / "weights.pt", "--model", "mlp", "--dataset", "synthetic"};
  const std::vector<std::string> measure = {"measure", scratch / "run", "--quantities", "gaps"};
  for (const auto& command : {eval, measure}) {
    for (const char* option : {"--mixup", "--cutout", "--dropout"}) {
      const ProcessResult process = batchplus(with_options(command, {option, "1"}));
      EXPECT_EQ(process.exit_code, 2) << option;
      EXPECT_THAT(process.output, HasSubstr("unknown option"));
    }
    EXPECT_THAT(batchplus({command[0], "--help"}).output, ::testing::Not(HasSubstr("--mixup")));
  }
  for (const char* option : {"--momentum", "--coefficient", "--outer-batch", "--lr", "--inner-batch"}) {
    const ProcessResult process = batchplus(with_options(measure, {option, "1"}));
    EXPECT_EQ(process.exit_code, 2) << option;
    EXPECT_THAT(process.output, HasSubstr("for these quantities the option changes nothing"));
  }
  const auto penalties = [&](const std::string& option, const std::string& value) {
    const ProcessResult process =
        batchplus({"measure", scratch / "run", "--quantities", "implicit-regularization", option, value});
    EXPECT_EQ(process.exit_code, 2) << process.output;
    return process.output;
  };
  EXPECT_THAT(penalties("--momentum", "0.5"), HasSubstr("no step has momentum"));
  EXPECT_THAT(penalties("--method", "sgd"), HasSubstr("values of another method, bp-svrg"));
  EXPECT_EQ(batchplus({"measure", scratch / "run", "--quantities", "sharpness", "--lr", "0.1", "--quiet"})
                .exit_code,
            0)
      << "its steps are of that length";
}

}  // namespace
}  // namespace batchplus
