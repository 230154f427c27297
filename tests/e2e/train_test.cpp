// The program as a user runs it: real processes, real files, exit codes and JSON.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/fixture.h"
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
using testing::write_cifar10;

/// A short run on the synthetic set with further options behind it.
ProcessResult train(const std::vector<std::string>& options) {
  return batchplus(with_options({"train", "--train-limit", "640", "--test-limit", "200", "--inner-batch",
                                 "64", "--epochs", "2", "--quiet", "--json"},
                                options));
}

TEST(Train, JsonHasThePromisedKeysAndCounts) {
  const json result = result_of(train({"--method", "bp-svrg"}));
  EXPECT_EQ(result["status"], "done");
  EXPECT_EQ(result["epochs"], 2);
  EXPECT_EQ(result["outer_steps"], 10);
  EXPECT_EQ(result["inner_steps"], 20);
  EXPECT_EQ(result["gradient_evaluations"], 30);
  for (const char* key : {"samples_per_second", "seconds", "train_loss", "train_accuracy", "test_loss",
                          "test_accuracy", "best_test_accuracy", "weights_sha256"}) {
    EXPECT_TRUE(result.contains(key)) << key;
  }
}

TEST(Train, SameSeedGivesTheSameWeightsAndAnotherSeedOthers) {
  const auto hash = [](const std::string& seed) {
    return result_of(
        train({"--model", "smallcnn", "--augment", "standard", "--seed", seed}))["weights_sha256"];
  };
  const json first = hash("1");
  EXPECT_EQ(hash("1"), first);
  EXPECT_NE(hash("2"), first);
}

TEST(Train, RecomputedSnapshotsGiveTheSameWeightsForMoreGradients) {
  const std::vector<std::string> common = {"--model", "smallcnn", "--outer-batch", "5x"};
  auto cached_options = common;
  cached_options.insert(cached_options.end(), {"--snapshot-gradients", "cache"});
  auto recomputed_options = common;
  recomputed_options.insert(recomputed_options.end(), {"--snapshot-memory", "1K"});
  const json cached = result_of(train(cached_options));
  const json recomputed = result_of(train(recomputed_options));
  EXPECT_EQ(cached["weights_sha256"], recomputed["weights_sha256"]);
  EXPECT_EQ(cached["gradient_evaluations"], 4 * (2 * 5 - 1));
  EXPECT_EQ(recomputed["gradient_evaluations"], 4 * (3 * 5 - 2));
}

TEST(Train, EqualBudgetsAreSpentAlike) {
  const auto evaluations = [](const std::string& method) {
    return result_of(batchplus({"train", "--train-limit", "640", "--test-limit", "200", "--inner-batch", "64",
                                "--budget-epochs", "3", "--method", method, "--quiet",
                                "--json"}))["gradient_evaluations"]
        .get<double>();
  };
  EXPECT_EQ(evaluations("nag"), 30);
  EXPECT_EQ(evaluations("bp-svrg"), 30);
  EXPECT_EQ(evaluations("sam"), 30);
}

TEST(Train, ReadsItsOwnWeightsAndContinuesFromThem) {
  const Scratch scratch;
  const std::string weights = (scratch / "w.pt").string();
  const json saved = result_of(train({"--save-weights", weights}));
  // A learning rate too small to move a float32 weight: the loss is that of the loaded weights.
  const json loaded = result_of(train({"--init", weights, "--lr", "1e-30", "--seed", "9"}));
  EXPECT_EQ(loaded["test_loss"], saved["test_loss"]);
}

// A run directory may come from anywhere, so what it says about other places is not followed; that is said.
TEST(Train, ResumingSaysThatWeightsWereAskedForElsewhere) {
  const Scratch scratch;
  const std::string run = (scratch / "run").string();
  const std::string weights = (scratch / "w.pt").string();
  result_of(train({"--out", run, "--save-weights", weights}));
  fs::remove(weights);
  const ProcessResult silent = batchplus({"train", "--resume", "--out", run, "--save-weights", weights});
  EXPECT_EQ(silent.exit_code, 0);
  EXPECT_THAT(silent.output, ::testing::Not(HasSubstr("note: the run began with --save-weights")));
  EXPECT_EQ(read_file(weights), read_file(fs::path(run) / "weights.pt"));
  const ProcessResult told = batchplus({"train", "--resume", "--out", run});
  EXPECT_EQ(told.exit_code, 0);
  EXPECT_THAT(told.output, HasSubstr("note: the run began with --save-weights " + weights));
}

TEST(Train, WritesARunDirectoryAndRefusesToOverwriteIt) {
  const Scratch scratch;
  const fs::path run = scratch / "runs" / "first";
  const json result = result_of(train({"--out", run.string()}));
  EXPECT_EQ(json::parse(read_file(run / "status.json"))["weights_sha256"], result["weights_sha256"]);
  EXPECT_THAT(read_file(run / "config.toml"), HasSubstr("method = \"bp-svrg\""));
  EXPECT_THAT(read_file(run / "config.toml"), HasSubstr("outer_batch = \"128\""));
  const std::string metrics = read_file(run / "metrics.jsonl");
  EXPECT_EQ(std::count(metrics.begin(), metrics.end(), '\n'), 2);
  EXPECT_TRUE(json::parse(read_file(run / "provenance.json")).contains("commit"));
  EXPECT_TRUE(fs::exists(run / "weights.pt"));

  // The written config alone repeats the run.
  const fs::path config = scratch / "again.toml";
  std::string toml = read_file(run / "config.toml");
  const size_t out = toml.find("\nout = ");
  ASSERT_NE(out, std::string::npos);
  toml.erase(out, toml.find('\n', out + 1) - out);
  write_file_atomically(config, toml);
  const json again = result_of(batchplus({"train", "--config", config.string(), "--json", "--quiet"}));
  EXPECT_EQ(again["weights_sha256"], result["weights_sha256"]);

  const ProcessResult second = train({"--out", run.string()});
  EXPECT_EQ(second.exit_code, 2);
  EXPECT_THAT(second.output, HasSubstr("already holds a run"));
  EXPECT_EQ(read_file(run / "metrics.jsonl"), metrics);
}

// A run from before there was a choice of kernels: no file of it names them, and libtorch computed it.
TEST(Train, GoesOnWithTheKernelsOfTheRun) {
  const Scratch scratch;
  const fs::path run = scratch / "run";
  const json result = result_of(train({"--kernels", "aten", "--out", run.string()}));
  std::string toml = read_file(run / "config.toml");
  const size_t line = toml.find("kernels = ");
  ASSERT_NE(line, std::string::npos);
  write_file_atomically(run / "config.toml", toml.erase(line, toml.find('\n', line) - line + 1));
  fs::remove(run / "status.json");  // it would vouch for the line

  const std::vector<std::string> resume = {"train", "--resume", "--json", "--quiet", "--out", run.string()};
  auto other = resume;
  other.insert(other.end(), {"--kernels", "fast"});
  const ProcessResult refused = batchplus(other);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.output, HasSubstr("kernels is fast and the run has aten"));

  EXPECT_EQ(result_of(batchplus(resume))["weights_sha256"], result["weights_sha256"]);
  EXPECT_THAT(read_file(run / "config.toml"), HasSubstr("kernels = \"aten\""));
}

// What is in an event file is checked by tests/store/event_file_test.cpp.
TEST(Train, ExtendsARunToMoreEpochsOrSaysWhyNot) {
  const Scratch scratch;
  const std::string run = (scratch / "run").string();
  const json whole =
      result_of(batchplus({"train", "--train-limit", "640", "--test-limit", "200", "--inner-batch", "64",
                           "--epochs", "3", "--average", "0.9", "--quiet", "--json"}));
  result_of(train({"--average", "0.9", "--out", run}));
  const std::vector<std::string> extend = {"train",   "--resume", "--out",   run,
                                           "--quiet", "--json",   "--extend"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = extend;
    arguments.insert(arguments.end(), more.begin(), more.end());
    return batchplus(arguments);
  };
  const json longer = result_of(with({"3"}));
  EXPECT_EQ(longer["epochs"], 3);
  EXPECT_EQ(longer["weights_sha256"], whole["weights_sha256"]);
  EXPECT_THAT(read_file(scratch / "run" / "config.toml"), HasSubstr("epochs = 3\n"));

  const auto refuse = [](const ProcessResult& process, const std::string& words) {
    EXPECT_EQ(process.exit_code, 2);
    EXPECT_THAT(process.output, HasSubstr(words));
  };
  refuse(with({"1"}), "--extend");
  refuse(with({"two"}), "--extend");
  refuse(with({"4", "--epochs", "5"}), "--epochs");
  refuse(batchplus({"train", "--out", run, "--extend", "4"}), "--resume");
  fs::remove_all(run);
  refuse(with({"4"}), "no run to go on with");
  result_of(train({"--schedule", "cosine", "--out", run}));
  refuse(with({"4"}), "--schedule");
}

TEST(Train, WritesEventsForTensorBoard) {
  const Scratch scratch;
  const json plain = result_of(train({}));
  const json result = result_of(train({"--out", scratch / "run", "--tensorboard"}));
  EXPECT_EQ(result["weights_sha256"], plain["weights_sha256"]);
  const fs::directory_iterator events(scratch / "run" / "tensorboard");
  ASSERT_NE(events, fs::directory_iterator());
  const std::string bytes = read_file(events->path());
  for (const char* tag :
       {"brain.Event:2", "train/running_loss", "test/accuracy", "train/lr", "inner_batch = "}) {
    EXPECT_THAT(bytes, HasSubstr(tag));
  }
  const ProcessResult nowhere = train({"--tensorboard"});
  EXPECT_EQ(nowhere.exit_code, 2);
  EXPECT_THAT(nowhere.output, HasSubstr("--out"));
}

TEST(Train, DivergedRunExitsWithThreeAndNamesTheStep) {
  const Scratch scratch;
  result_of(train({"--save-weights", scratch / "w.pt"}));
  const std::string earlier = read_file(scratch / "w.pt");
  const ProcessResult process = train(
      {"--lr", "1e20", "--out", (scratch / "run").string(), "--save-weights", (scratch / "w.pt").string()});
  EXPECT_EQ(process.exit_code, 3);
  EXPECT_THAT(process.output, HasSubstr("diverged"));
  EXPECT_THAT(process.output, HasSubstr("inner step"));
  const json status = json::parse(read_file(scratch / "run" / "status.json"));
  EXPECT_EQ(status["status"], "diverged");
  EXPECT_GE(status["inner_steps"], 1);
  EXPECT_EQ(read_file(scratch / "w.pt"), earlier);
  const ProcessResult told = batchplus({"train", "--train-limit", "640", "--lr", "1e20", "--quiet"});
  EXPECT_EQ(told.exit_code, 3);
  EXPECT_THAT(told.output, ::testing::Not(HasSubstr("sha256"))) << "there are no weights";
  EXPECT_THAT(told.output, ::testing::Not(HasSubstr("accuracy -")));
}

struct BadInput {
  std::vector<std::string> options;
  std::string message;
};

TEST(Train, BadInputIsRefusedWithExitCodeTwoAndAMessage) {
  const Scratch scratch;
  write_cifar10(scratch / "cut" / "cifar-10-batches-bin", 4);
  const fs::path cut = scratch / "cut" / "cifar-10-batches-bin" / "data_batch_4.bin";
  write_file_atomically(cut, read_file(cut).substr(0, 5000));
  write_file_atomically(scratch / "weights.pt", "not a weight file");
  const Scratch configs;
  for (const char* key : {"out", "save_weights", "init", "data_dir"})
    write_file_atomically(configs / (std::string(key) + ".toml"), std::string(key) + " = \"\"\n");
  const std::vector<BadInput> cases = {
      {{"--config", configs / "out.toml"}, "out.toml:1"},
      {{"--config", configs / "out.toml"}, "the value is empty"},
      {{"--config", configs / "save_weights.toml"}, "the value is empty"},
      {{"--config", configs / "init.toml"}, "the value is empty"},
      {{"--config", configs / "data_dir.toml"}, "the value is empty"},
      {{"--outer-batch", "32"}, "outer batch is smaller"},
      {{"--inner-batch", "641"}, "inner batch is larger than the training set"},
      {{"--outer-batch", "1000"}, "outer batch is larger"},
      {{"--inner-batch", "0"}, "out of range"},
      {{"--inner-batch", "-3"}, "out of range"},
      {{"--outer-batch", "-1"}, "outer batch is smaller"},
      {{"--train-limit", "-1"}, "out of range"},
      {{"--lr", "-0.1"}, "out of range"},
      {{"--lr", "nan"}, "out of range"},
      {{"--lr", "inf"}, "must be a finite number"},
      {{"--lr", "0.1", "--lr", "0.2"}, "given more than once"},
      {{"--threads", "0"}, "--threads: is 0, and must be 1 or more"},
      {{"--out", ""}, "--out: the value is empty"},
      {{"--out="}, "--out: the value is empty"},
      {{"--save-weights=", "--metrics", "gaps"}, "--save-weights: the value is empty"},
      {{"--seed=", "3"}, "--seed: the value is empty"},
      {{"--processes=", "1"}, "--processes: the value is empty"},
      {{"--sav-weights="}, "did you mean --save-weights?"},
      {{"--save-weights", "/dev/full"}, "not a regular file"},
      {{"--config", "/dev/zero"}, "not a regular file"},
      {{"--init", "/dev/zero"}, "not a regular file"},
      {{"--method", "sgd", "--momentum", "0.5"}, "with sgd the option changes nothing"},
      {{"--warmup-epochs", "2"}, "leaves no step of bp-svrg"},
      {{"--resume", "--out", std::string(300, 'x')}, "File name too long"},
      {{"--lr", "fast"}, "not a number"},
      {{"--lr", "1e400"}, "too large"},
      {{"--seed", "18446744073709551615"}, "too large"},
      {{"--lr"}, "the option needs a value\n  where: --lr"},
      {{"--coefficient", "linear:"}, "value: linear:"},
      {{"--metrics", "gaps,"}, "value: gaps,"},
      {{"--metrics", "all,gaps"}, "'all' stands alone"},
      {{"--dataset", "folder:"}, "where: --dataset"},
      {{"--kernels", "atne"}, "did you mean 'aten'?"},
      {{"--method", "bpsvrg"}, "did you mean 'bp-svrg'?"},
      {{"--model", "mpl"}, "did you mean 'mlp'?"},
      {{"--dataset", "cifar"}, "did you mean 'cifar10'?"},
      {{"--dataset", "cifar10", "--data-dir", (scratch / "none").string()}, "no such data directory"},
      {{"--dataset", "cifar10", "--data-dir", scratch.path().string()}, "not there"},
      {{"--dataset", "cifar10", "--data-dir", (scratch / "cut").string(), "--train-limit", "0"}, "truncated"},
      {{"--save-weights", (scratch / "none" / "w.pt").string()}, "cannot write there"},
      {{"--out", "/proc/run"}, "cannot create directory"},
      {{"--init", (scratch / "weights.pt").string()}, "cannot read the weight file"},
      {{"--init", (scratch / "none.pt").string()}, "cannot open file"},
      {{"--schedule", "exp"}, "not a learning-rate schedule"},
      {{"--coefficient", "x"}, "not a number"},
      {{"--method", "sgd", "--coefficient", "1"}, "no control variate"},
      {{"--method", "svrg", "--outer-batch", "2x"}, "over all samples"},
      {{"--dropout", "0.5"}, "no dropout"},
      {{"--budget-epochs", "0.01"}, "single outer batch"},
      {{"--device", "cuda"}, "cannot use the device"},
      {{"--device", "gpu"}, "not a device"},
      {{"--weight-decya", "1"}, "did you mean --weight-decay?"},
      {{"--config", (scratch / "none.toml").string()}, "cannot open file"},
  };
  for (const auto& [options, message] : cases) {
    const ProcessResult process = train(options);
    EXPECT_EQ(process.exit_code, 2) << options[0] << " " << process.output;
    EXPECT_THAT(process.output, HasSubstr(message));
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch.path()), fs::directory_iterator()), 2)
      << "nothing was written";
}

TEST(Train, ReadsCifar10InTheOfficialLayout) {
  const Scratch scratch;
  write_cifar10(scratch / "cifar-10-batches-bin", 50);
  const json result =
      result_of(batchplus({"train", "--dataset", "cifar10", "--data-dir", scratch.path().string(),
                           "--inner-batch", "25", "--epochs", "1", "--json", "--quiet"}));
  EXPECT_EQ(result["inner_steps"], 10);
}

TEST(Commands, ListWhatThereIs) {
  const json models = json::parse(batchplus({"models", "--json"}).output);
  EXPECT_EQ(models[0]["name"], "mlp");
  EXPECT_EQ(models[0]["parameters"], 318410);
  EXPECT_EQ(models[0]["parameters_100"], 327500);
  EXPECT_EQ(models[0]["macs"], 318200);
  const json methods = json::parse(batchplus({"methods", "--json"}).output);
  const auto signed_one =
      std::find_if(methods.begin(), methods.end(), [](const json& row) { return row["name"] == "bp-svrg"; });
  ASSERT_NE(signed_one, methods.end());
  EXPECT_EQ((*signed_one)["coefficient"], "1");
  const json data = json::parse(batchplus({"data", "list", "--json"}).output);
  const auto synthetic =
      std::find_if(data.begin(), data.end(), [](const json& row) { return row["name"] == "synthetic"; });
  ASSERT_NE(synthetic, data.end());
  EXPECT_EQ((*synthetic)["train_samples"], 10000);
}

// What it would train are the defaults, to the end, under a name that was misspelt.
TEST(Train, ResumesNothingWhereThereIsNoRun) {
  const Scratch scratch;
  const ProcessResult nothing =
      batchplus({"train", "--resume", "--out", scratch / "tyop", "--checkpoint-every", "never"});
  EXPECT_EQ(nothing.exit_code, 2);
  EXPECT_THAT(nothing.output, HasSubstr("there is no run to go on with"));
  EXPECT_FALSE(fs::exists(scratch / "tyop"));
}

// An empty config would train the defaults under another name.
TEST(Train, ReadsAConfigFromAPipe) {
  const Scratch scratch;
  write_file_atomically(scratch / "c.toml",
                        "train_limit = 64\ninner_batch = 16\nepochs = 2\nmethod = \"sgd\"\n");
  const auto shell = [&](const std::string& command) {
    return run_process({"bash", "-c", command, BATCHPLUS_PROGRAM, scratch.path()}, "/");
  };
  for (const std::string config :
       {"<(cat $1/c.toml)", "/dev/stdin < <(cat $1/c.toml)", "/dev/stdin < $1/c.toml"}) {
    const ProcessResult process = shell("$0 train --json --quiet --config " + config);
    EXPECT_EQ(result_of(process)["inner_steps"], 8) << config;
  }
  result_of(shell("$0 train --json --quiet --out $1/run --config $1/c.toml"));
  const ProcessResult resumed =
      shell("$0 train --json --quiet --resume --out $1/run --config <(sed 's/sgd/nag/' $1/c.toml)");
  EXPECT_EQ(resumed.exit_code, 2);
  EXPECT_THAT(resumed.output, HasSubstr("method is nag and the run has sgd"))
      << "it is read when it is compared";
  EXPECT_THAT(shell("$0 sweep --dry-run <(cat $1/c.toml)").output, HasSubstr("not a regular file"))
      << "workers read a spec again";
}

TEST(Train, SavesWeightsOverNothingThatARunNeeds) {
  const Scratch scratch;
  const std::string run = scratch / "run";
  result_of(train({"--out", run}));
  result_of(train({"--save-weights", scratch / "w.pt"}));
  for (const char* file : {"config.toml", "provenance.json", "metrics.jsonl", "status.json", "checkpoint.pt",
                           "weights.pt", "lock"}) {
    const std::string before = read_file(scratch / "run" / file);
    const ProcessResult other = train({"--save-weights", run + "/" + file});
    EXPECT_EQ(other.exit_code, 2) << file;
    EXPECT_THAT(other.output, HasSubstr("one of a run directory")) << file;
    EXPECT_EQ(read_file(scratch / "run" / file), before);
  }
  fs::create_directory(scratch / "new");
  EXPECT_EQ(train({"--out", scratch / "new", "--save-weights", scratch / "new" / "lock"}).exit_code, 2);
  EXPECT_FALSE(fs::exists(scratch / "new" / "config.toml"));
  const std::string weights = scratch / "w.pt";
  const ProcessResult own = train({"--init", weights, "--save-weights", scratch.path() / "." / "w.pt"});
  EXPECT_EQ(own.exit_code, 2);
  EXPECT_THAT(own.output, HasSubstr("the run begins with this file"));
  write_file_atomically(scratch / "notes.txt", "mine");
  const ProcessResult notes = train({"--save-weights", scratch / "notes.txt"});
  EXPECT_EQ(notes.exit_code, 2);
  EXPECT_THAT(notes.output, HasSubstr("the file holds something else than weights"));
  // The weights of this one are a part of a training's checkpoint.
  fs::copy_file(testing::fixture("smallcnn_nested.pt"), scratch / "nested.pt");
  const ProcessResult nested = train({"--save-weights", scratch / "nested.pt"});
  EXPECT_EQ(nested.exit_code, 2);
  EXPECT_THAT(nested.output, HasSubstr("the file holds something else than weights"));
  EXPECT_EQ(read_file(scratch / "nested.pt"), read_file(testing::fixture("smallcnn_nested.pt")));
  EXPECT_EQ(read_file(scratch / "notes.txt"), "mine");
  const ProcessResult both = train({"--out", scratch / "both", "--save-weights", scratch / "both"});
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_FALSE(fs::exists(scratch / "both")) << "it is refused before anything is trained";
  EXPECT_EQ(train({"--save-weights", run + "/copy.pt"}).exit_code, 0) << "it is no file of the run";
  EXPECT_EQ(train({"--save-weights", weights}).exit_code, 0);
}

// Files of somebody's own in a directory where no run is.
TEST(Train, BeginsNoRunOverSomebodysFiles) {
  const Scratch scratch;
  fs::create_directory(scratch / "own");
  result_of(train({"--save-weights", scratch / "own" / "weights.pt"}));
  const std::string weights = read_file(scratch / "own" / "weights.pt");
  const ProcessResult begun = train({"--out", scratch / "own", "--init", scratch / "own" / "weights.pt"});
  EXPECT_EQ(begun.exit_code, 2);
  EXPECT_THAT(begun.output, HasSubstr("a file that the run would replace"));
  EXPECT_EQ(read_file(scratch / "own" / "weights.pt"), weights);

  fs::create_directory(scratch / "config");
  const std::string config = scratch / "config" / "config.toml";
  write_file_atomically(config, "# mine\ntrain_limit = 64\n");
  EXPECT_EQ(train({"--config", config, "--out", scratch / "config", "--resume"}).exit_code, 2);
  EXPECT_EQ(read_file(config), "# mine\ntrain_limit = 64\n");
}

TEST(Train, RefusesToSayHowToMeasureNothing) {
  const ProcessResult process = train({"--metrics-samples", "10"});
  EXPECT_EQ(process.exit_code, 2);
  EXPECT_THAT(process.output, HasSubstr("nothing is measured: leave it out, or give --metrics too"));
}

// The run may go on from another directory.
TEST(Train, KeepsPathsWhole) {
  const Scratch scratch;
  result_of(train({"--save-weights", scratch / "w.pt"}));
  const ProcessResult begun =
      run_process({BATCHPLUS_PROGRAM, "train", "--train-limit", "64", "--inner-batch", "32", "--epochs", "1",
                   "--init", "w.pt", "--out", "run", "--quiet"},
                  scratch.path());
  EXPECT_EQ(begun.exit_code, 0) << begun.output;
  EXPECT_THAT(read_file(scratch / "run" / "config.toml"), HasSubstr((scratch / "w.pt").string()));
}

/// Through a shell that sends standard output elsewhere; standard error comes back.
ProcessResult in_shell(const std::string& redirection, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(),
                   {"sh", "-c", "exec \"$@\" 2>&1 " + redirection, "sh", BATCHPLUS_PROGRAM});
  return run_process(arguments, "/");
}

TEST(Commands, LostOutputIsAFailure) {
  const Scratch scratch;
  for (const std::string redirection : {">/dev/full", ">&-"}) {
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"methods"}, {"--help"}, {"train", "--help"}, {"data", "list", "--json"}}) {
      const ProcessResult process = in_shell(redirection, command);
      EXPECT_EQ(process.exit_code, 1) << command[0] << redirection;
      EXPECT_THAT(process.output, HasSubstr("what was printed is lost")) << command[0] << redirection;
    }
  }
  const std::string run = scratch / "run";
  const ProcessResult trained = in_shell(">&-", {"train", "--train-limit", "64", "--inner-batch", "32",
                                                 "--epochs", "1", "--json", "--quiet", "--out", run});
  EXPECT_EQ(trained.exit_code, 1);
  EXPECT_EQ(json::parse(read_file(scratch / "run" / "status.json"))["status"], "done") << "the run is kept";
  EXPECT_EQ(in_shell(">/dev/full", {"check", run, "--quiet"}).exit_code, 0) << "nothing was printed";
  const std::string unheard = scratch / "unheard";
  const ProcessResult told = in_shell("2>/dev/full", {"train", "--train-limit", "64", "--inner-batch", "32",
                                                      "--epochs", "1", "--out", unheard});
  EXPECT_EQ(told.exit_code, 0) << "progress that nobody can read ends no run";
  EXPECT_EQ(json::parse(read_file(scratch / "unheard" / "status.json"))["status"], "done");
}

TEST(Commands, WrongUseExitsWithTwo) {
  EXPECT_EQ(batchplus({}).exit_code, 2);
  EXPECT_EQ(batchplus({"trian"}).exit_code, 2);
  EXPECT_THAT(batchplus({"trian"}).output, HasSubstr("did you mean train?"));
  EXPECT_THAT(batchplus({"frobnicate"}).output, HasSubstr("unknown command"));
  EXPECT_THAT(batchplus({"frobnicate"}).output, HasSubstr("one of: train"));
  EXPECT_THAT(batchplus({"data", "lst"}).output, HasSubstr("did you mean list?"));
  EXPECT_THAT(batchplus({"train", "a", "b", "c"}).output, HasSubstr("value: a b c"));
  EXPECT_EQ(batchplus({"data", "fetch", "nothing"}).exit_code, 2);
  EXPECT_EQ(batchplus({"data", "verify", "cifar10", "--data-dir", "/nonexistent"}).exit_code, 2);
  EXPECT_EQ(batchplus({"--help"}).exit_code, 0);
  EXPECT_THAT(batchplus({"train", "--help"}).output, HasSubstr("--inner-batch"));
}

}  // namespace
}  // namespace batchplus
