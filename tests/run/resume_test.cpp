// Runs that are stopped after every single outer step, and run directories that were tampered with.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "checkpoint/storage.h"
#include "config/config_toml.h"
#include "kernels/processor.h"
#include "methods/registry.h"
#include "run/run.h"
#include "store/check_run.h"
#include "support/damage.h"
#include "support/expect_error.h"
#include "support/machine.h"
#include "support/running.h"
#include "support/scratch.h"
#include "support/short_run.h"
#include "support/threads.h"

namespace batchplus {
namespace {

namespace fs = std::filesystem;
using testing::damage_everywhere;
using testing::DamageTally;
using testing::data_directory;
using testing::expect_error;
using ::testing::HasSubstr;
using testing::run_in_pieces;
using testing::run_once;
using testing::Scratch;
using testing::short_config;
using testing::timeless_records;

class EveryMethod : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryMethod, StoppedAfterEveryStepEndsAsIfNeverStopped) {
  for (const char* model : {"mlp", "smallcnn"}) {
    SCOPED_TRACE(model);
    const Scratch scratch;
    const RunConfig config = short_config(model, GetParam());
    int pieces = 0;
    const Json whole = run_once(config, scratch / "whole").result;
    const Json resumed = run_in_pieces(config, scratch / "pieces", pieces).result;
    EXPECT_GE(pieces, 7);
    EXPECT_EQ(resumed["weights_sha256"], whole["weights_sha256"]);
    EXPECT_EQ(timeless_records(scratch / "pieces"), timeless_records(scratch / "whole"));
    for (const char* key : {"status", "epochs", "outer_steps", "inner_steps", "sample_gradients",
                            "sample_forwards", "train_loss", "train_accuracy", "best_test_accuracy"}) {
      EXPECT_EQ(resumed.value(key, Json()), whole.value(key, Json())) << key;
    }
  }
}

// Own kernels give the same bits with any number of threads.
TEST(Resume, GoesOnWithAnyNumberOfThreads) {
  if (!testing::machine_has("avx2", kernels::are_available())) return;
  for (const char* method : {"nag", "bp-svrg"}) {
    const Scratch scratch;
    const RunConfig config = short_config("smallcnn", method);
    const Json whole = run_once(config, scratch / "whole").result;
    RunOutcome resumed;
    resumed.signal = SIGTERM;
    for (int piece = 0; resumed.signal != 0 && piece < 100; ++piece) {
      const testing::WithThreads with(1 + piece % 5);
      int boundaries = 0;
      resumed = run_once(config, scratch / "pieces", [&] { return ++boundaries > 1 ? SIGTERM : 0; });
    }
    EXPECT_EQ(resumed.result["weights_sha256"], whole["weights_sha256"]) << method;
    EXPECT_EQ(timeless_records(scratch / "pieces"), timeless_records(scratch / "whole")) << method;
  }
}

TEST(Resume, RefusesARunOfAnotherRevisionOfTheKernels) {
  const Scratch scratch;
  RunConfig config = short_config("mlp", "sgd");
  config.kernels_revision = 1;
  expect_error([&] { run_once(config, scratch / "run"); }, {"kernels_revision", "1", "revision 2"});
  config.kernels = "aten";  // has no revision
  EXPECT_EQ(run_once(config, scratch / "run").result["status"], "done");
}

std::vector<std::string> method_names() {
  std::vector<std::string> names;
  for (const MethodInfo& method : methods()) names.push_back(method.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Resume, EveryMethod, ::testing::ValuesIn(method_names()), [](const auto& instance) {
  std::string name = instance.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

/// A run that was stopped after so many boundaries.
void stop_after(const RunConfig& config, const fs::path& out, int boundaries) {
  int count = 0;
  ASSERT_EQ(run_once(config, out, [&] { return ++count > boundaries ? SIGINT : 0; }).signal, SIGINT);
}

class ResumeTest : public ::testing::Test {
 protected:
  ResumeTest() : config(short_config("mlp", "bp-svrg")) {
    config.warmup_epochs = 0;
    whole = run_once(config, scratch / "whole").result;
    stop_after(config, run, 5);
  }
  void expect_as_whole() {
    EXPECT_EQ(run_once(config, run).result["weights_sha256"], whole["weights_sha256"]);
    EXPECT_EQ(timeless_records(run), timeless_records(scratch / "whole"));
  }

  Scratch scratch;
  RunConfig config;
  Json whole;
  fs::path run = scratch / "run";
};

TEST_F(ResumeTest, DropsRecordsThatTheCheckpointDoesNotKnow) {
  // Killed between a record and its checkpoint: the record is there, and so is half of the next one.
  append_line(run / "metrics.jsonl",
              R"({"epoch": 2, "gradient_evaluations": 12, "sample_gradients": 120, "seconds": 1})");
  append_bytes(run / "metrics.jsonl", R"({"epoch": 3, "gradi)");
  expect_as_whole();
}

TEST_F(ResumeTest, BringsLostRecordsBack) {
  write_file_atomically(run / "metrics.jsonl", "");
  expect_as_whole();
}

TEST_F(ResumeTest, FallsBackToTheCheckpointBeforeADamagedOne) {
  fs::resize_file(run / "checkpoint.pt", fs::file_size(run / "checkpoint.pt") / 2);
  fs::remove(run / "checkpoint.previous.pt");
  // There is no other: nothing can be trusted, and nothing is begun anew without being asked.
  expect_error([&] { run_once(config, run); }, {"no checkpoint", "checkpoint.pt", "begin anew"});

  fs::remove_all(run);
  config.checkpoint_every = "0.1";
  stop_after(config, run, 5);
  ASSERT_TRUE(fs::exists(run / "checkpoint.previous.pt"));
  fs::resize_file(run / "checkpoint.pt", fs::file_size(run / "checkpoint.pt") / 2);
  EXPECT_THAT(read_continuation(RunLayout{run}).notes, ::testing::ElementsAre(HasSubstr("the one before")));
  expect_as_whole();
}

TEST_F(ResumeTest, GoesOnWhenKilledBetweenTheTwoRenames) {
  fs::rename(run / "checkpoint.pt", run / "checkpoint.previous.pt");
  expect_as_whole();
}

TEST_F(ResumeTest, RefusesAnotherConfigurationWithTheKeysThatDiffer) {
  config.lr = 0.5;
  config.seed = 9;
  expect_error([&] { run_once(config, run); },
               {"another configuration", "lr is 0.5 and the run has 0.02", "seed is 9 and the run has 1"});
  config.lr = 0.02;
  config.seed = 1;
  config.checkpoint_every = "2h";
  expect_as_whole();
}

// Libtorch computed the runs from before there was a choice of kernels. The checkpoint of an aten run does
// not name them, as those from before do not.
TEST_F(ResumeTest, ARunThatNamesNoKernelsGoesOnWithLibtorchs) {
  config.kernels = "aten";
  fs::remove_all(run);
  fs::remove_all(scratch / "whole");
  whole = run_once(config, scratch / "whole").result;
  stop_after(config, run, 5);
  EXPECT_THAT(read_contents(run / "checkpoint.pt").state["config"].get<std::string>(),
              ::testing::Not(HasSubstr("kernels")));
  config.kernels = "fast";
  expect_error([&] { run_once(config, run); },
               {"another configuration", "kernels is fast and the run has aten"});
  config.kernels = "aten";
  expect_as_whole();
}

TEST_F(ResumeTest, RefusesAFormatOfAnotherVersion) {
  CheckpointContents checkpoint = read_contents(run / "checkpoint.pt");
  checkpoint.state["format_version"] = 2;
  save_contents(RunLayout{run}, checkpoint);
  expect_error([&] { run_once(config, run); }, {"another format", "version 2"});
}

TEST_F(ResumeTest, RefusesAnotherLayoutOfTheParameters) {
  CheckpointContents changed = read_contents(run / "checkpoint.pt");
  changed.state["parameter_layout"] = "another";
  save_contents(RunLayout{run}, changed);
  expect_error([&] { run_once(config, run); }, {"another network"});
}

TEST_F(ResumeTest, RefusesOtherTrainingData) {
  const fs::path folder = scratch / "data" / "cifar-10-batches-bin";
  fs::create_directories(folder.parent_path());
  fs::copy(data_directory() / "cifar-10-batches-bin", folder);
  config.data_dir = (scratch / "data").string();
  std::string pictures = read_file(folder / "data_batch_2.bin");
  for (size_t at = 1; at < pictures.size(); at += 3073) pictures[at] ^= 1;
  write_file_atomically(folder / "data_batch_2.bin", pictures);
  expect_error([&] { run_once(config, run); }, {"training data", "fingerprint"});
}

// A run would end with accuracies on other pictures than those that it began with.
TEST_F(ResumeTest, RefusesOtherTestData) {
  const fs::path folder = scratch / "data" / "cifar-10-batches-bin";
  fs::create_directories(folder.parent_path());
  fs::copy(data_directory() / "cifar-10-batches-bin", folder);
  config.data_dir = (scratch / "data").string();
  std::string pictures = read_file(folder / "test_batch.bin");
  for (size_t at = 1; at < pictures.size(); at += 3073) pictures[at] ^= 1;
  write_file_atomically(folder / "test_batch.bin", pictures);
  expect_error([&] { run_once(config, run); }, {"test data is not what the run began with"});
  // A run from before has no digests, and compares nothing.
  Json provenance = Json::parse(read_file(run / "provenance.json"));
  ASSERT_TRUE(provenance.contains(kInputs));
  provenance.erase(kInputs);
  write_file_atomically(run / "provenance.json", provenance.dump());
  EXPECT_EQ(run_once(config, run).result["weights_sha256"], whole["weights_sha256"]);
}

TEST_F(ResumeTest, RefusesOtherInitialWeights) {
  const std::string id = config_id(config);
  config.init = (scratch / "w.pt").string();
  const auto put = [&](const fs::path& weights) {
    fs::copy_file(weights, config.init, fs::copy_options::overwrite_existing);
  };
  put(scratch / "whole" / "weights.pt");
  const std::string id_with_init = config_id(config);
  const fs::path begun = scratch / "begun";
  stop_after(config, begun, 3);
  EXPECT_EQ(Json::parse(read_file(begun / "provenance.json"))[kInputs]["init"], whole["weights_sha256"]);
  put(run / "checkpoint.pt");
  EXPECT_EQ(config_id(config), id_with_init) << "what a run is called depends on the name alone";
  EXPECT_NE(id, id_with_init);
  expect_error([&] { run_once(config, begun); },
               {"the weights that the run began with have changed", "w.pt"});
  put(scratch / "whole" / "weights.pt");
  EXPECT_EQ(run_once(config, begun).result["status"], "done");
}

// A checkpoint from before does not say it, and provenance.json may.
TEST_F(ResumeTest, BitsThatWereNotPortableStaySo) {
  if (!testing::machine_has("avx2", kernels::are_available())) return;
  const CheckpointContents saved = read_contents(run / "checkpoint.pt");
  const auto as_left = [&](const Json& in_checkpoint, const Json& in_provenance) {
    const fs::path copy = scratch / "copy";
    fs::remove_all(copy);
    fs::copy(run, copy);
    CheckpointContents changed = saved;
    changed.state.erase("has_portable_bits");
    changed.state.update(in_checkpoint);
    save_contents(RunLayout{copy}, changed);
    Json provenance = Json::parse(read_file(copy / "provenance.json"));
    provenance.erase("has_portable_bits");
    provenance.update(in_provenance);
    write_file_atomically(copy / "provenance.json", provenance.dump());
    return run_once(config, copy).result["has_portable_bits"].get<bool>();
  };
  EXPECT_TRUE(as_left(Json::object(), Json::object()));
  EXPECT_TRUE(as_left({{"has_portable_bits", true}}, Json::object()));
  EXPECT_FALSE(as_left({{"has_portable_bits", false}}, Json::object()));
  EXPECT_FALSE(as_left(Json::object(), {{"has_portable_bits", false}}));
  EXPECT_FALSE(as_left(Json::object(), {{"instruction_set", "baseline"}}));
  EXPECT_FALSE(as_left(Json::object(), {{"resumed", {{{"has_portable_bits", false}}}}}));
  EXPECT_TRUE(as_left({{"has_portable_bits", true}}, {{"has_portable_bits", false}}))
      << "a process that saved nothing has no part in the bits";
}

TEST_F(ResumeTest, RefusesACheckpointThatLacksSomething) {
  const CheckpointContents good = read_contents(run / "checkpoint.pt");
  for (const auto& [key, value] : good.state.items()) {
    CheckpointContents changed = good;
    changed.state.erase(key);
    save_contents(RunLayout{run}, changed);
    // One from before does not have it.
    if (key != "has_portable_bits") {
      EXPECT_THROW(run_once(config, run), Error) << key;
    }
    for (const Json& wrong : {Json("x"), Json(nullptr), Json::array()}) {
      changed.state[key] = wrong;
      save_contents(RunLayout{run}, changed);
      EXPECT_THROW(run_once(config, run), Error) << key << " " << wrong;
    }
  }
  for (const char* key : {"epoch", "outer_batches", "outer_steps", "inner_steps"}) {
    for (const Json& wrong : {Json(-1), Json(1e300), Json(0.5), Json(UINT64_MAX), Json("1")}) {
      CheckpointContents changed = good;
      changed.state["train"][key] = wrong;
      save_contents(RunLayout{run}, changed);
      EXPECT_THROW(run_once(config, run), Error) << key << " " << wrong;
    }
  }
  for (const char* records : {"x", "{}\n", "[1]\n", R"({"epoch": 1, "gradient_evaluations": "many"})"}) {
    CheckpointContents changed = good;
    changed.state["records"] = records;
    save_contents(RunLayout{run}, changed);
    EXPECT_THROW(run_once(config, run), Error) << records;
  }
  CheckpointContents over = good;
  over.state["records"] = "";
  over.state["train"]["is_over"] = true;
  save_contents(RunLayout{run}, over);
  EXPECT_THROW(run_once(config, run), Error);
  CheckpointContents beyond = good;
  beyond.state["train"]["outer_batches"] = 1000;
  save_contents(RunLayout{run}, beyond);
  EXPECT_THROW(run_once(config, run), Error);
  for (size_t i = 0; i < good.tensors.size(); ++i) {
    CheckpointContents changed = good;
    changed.tensors.erase(changed.tensors.begin() + static_cast<std::ptrdiff_t>(i));
    save_contents(RunLayout{run}, changed);
    EXPECT_THROW(run_once(config, run), Error) << good.tensors[i].first;
  }
  save_contents(RunLayout{run}, good);
  expect_as_whole();
}

TEST_F(ResumeTest, AFinishedRunGivesItsResultAgainAndComputesNothing) {
  const Json first = run_once(config, run).result;
  const auto written = fs::last_write_time(run / "status.json");
  EXPECT_EQ(run_once(config, run).result, first);
  EXPECT_EQ(fs::last_write_time(run / "status.json"), written);
  EXPECT_FALSE(fs::exists(run / "checkpoint.previous.pt"));
}

TEST_F(ResumeTest, AFinishedRunMakesLostFilesAgainFromItsCheckpoint) {
  run_once(config, run);
  const std::string weights = read_file(run / "weights.pt");
  const std::string last_byte_turned = [&] {
    std::string bytes = weights;
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    return bytes;
  }();
  const auto expect_made_again = [&](const std::string& file) {
    EXPECT_THAT(read_continuation(RunLayout{run}).notes, ::testing::Contains(HasSubstr(file)));
    expect_as_whole();
    EXPECT_EQ(read_file(run / "weights.pt"), weights);
    EXPECT_TRUE(check_run(RunLayout{run}).problems.empty());
  };
  fs::remove(run / "weights.pt");
  expect_made_again("weights.pt: it is missing");
  write_file_atomically(run / "weights.pt", last_byte_turned);
  expect_made_again("weights.pt");
  fs::remove(run / "metrics.jsonl");
  expect_made_again("metrics.jsonl: it is missing");

  fs::remove(run / "checkpoint.pt");
  EXPECT_EQ(run_once(config, run).result["status"], "done") << "nothing is missing that counts";
  fs::remove(run / "weights.pt");
  expect_error([&] { run_once(config, run); }, {"no checkpoint", "weights.pt: it is missing"});
}

TEST_F(ResumeTest, ACheckNamesEveryFileThatIsNotAsItWasWritten) {
  run_once(config, run);
  const RunLayout layout{run};
  EXPECT_EQ(check_run(layout).status, "done");
  EXPECT_EQ(read_run(run).provenance["data"], "layout") << "it says that the data was not the official one";
  EXPECT_TRUE(check_run(layout).problems.empty());
  const auto problems_without = [&](const char* file) {
    fs::rename(run / file, scratch / "aside");
    const std::vector<std::string> lost = check_run(layout).problems;
    write_file_atomically(run / file, "something else\n");
    const std::vector<std::string> damaged = check_run(layout).problems;
    fs::rename(scratch / "aside", run / file);
    EXPECT_THAT(damaged, ::testing::ElementsAre(::testing::StartsWith(file)));
    return lost;
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(problems_without("status.json"), ElementsAre("status.json: it is missing"));
  EXPECT_THAT(problems_without("config.toml"), ElementsAre(HasSubstr("config.toml: cannot open file")));
  EXPECT_THAT(problems_without("metrics.jsonl"), ElementsAre("metrics.jsonl: it is missing"));
  EXPECT_THAT(problems_without("weights.pt"), ElementsAre("weights.pt: it is missing"));
  EXPECT_THAT(problems_without("provenance.json"), ElementsAre("provenance.json: it is missing"));
  EXPECT_THAT(problems_without("checkpoint.pt"), ElementsAre()) << "a run that is done needs none";
  // The end of a zip file is its directory, of which this program reads less than PyTorch.
  const std::string weights = read_file(run / "weights.pt");
  for (size_t at = weights.size() - 400; at < weights.size(); ++at) {
    std::string damaged = weights;
    damaged[at] ^= 1;
    write_file_atomically(run / "weights.pt", damaged);
    EXPECT_THAT(check_run(layout).problems, ElementsAre(::testing::StartsWith("weights.pt"))) << at;
  }
  fs::remove(run / "weights.pt");
  fs::remove(run / "metrics.jsonl");
  EXPECT_EQ(check_run(layout).problems.size(), 2U);
}

// SIGTERM may arrive while data is loaded.
TEST_F(ResumeTest, ARunThatIsStoppedBeforeItsFirstStepHasAConfigToGoOnWith) {
  fs::remove_all(run);
  stop_after(config, run, 0);
  EXPECT_TRUE(fs::exists(run / "config.toml"));
  EXPECT_TRUE(fs::exists(run / "checkpoint.pt"));
  EXPECT_EQ(read_status(RunLayout{run})["status"], "interrupted");
  expect_as_whole();
}

TEST_F(ResumeTest, BeginsAnewWhatNeverGotToACheckpoint) {
  fs::remove(run / "checkpoint.pt");
  expect_as_whole();
}

TEST_F(ResumeTest, BeginsWhenOnlyTheConfigGotWritten) {
  for (const char* file : {"checkpoint.pt", "status.json", "metrics.jsonl"}) fs::remove(run / file);
  ASSERT_TRUE(fs::exists(run / "config.toml"));
  expect_as_whole();
}

TEST_F(ResumeTest, FollowsNoLinksOutOfTheDirectory) {
  write_file_atomically(scratch / "outside", "precious\n");
  for (const char* file : {"metrics.jsonl", "status.json", "provenance.json"}) {
    const fs::path copy = scratch / "copy" / file;
    fs::create_directories(copy.parent_path());
    fs::rename(run / file, copy);
    fs::create_symlink(scratch / "outside", run / file);
    expect_error([&] { run_once(config, run); }, {"cannot write file: a symbolic link is there", file});
    fs::remove(run / file);
    fs::rename(copy, run / file);
  }
  fs::remove(run / "checkpoint.previous.pt");
  fs::create_symlink(scratch / "outside", run / "checkpoint.previous.pt");
  expect_error([&] { run_once(config, run); }, {"symbolic link", "checkpoint.previous.pt"});
  fs::remove(run / "checkpoint.previous.pt");
  run_once(config, run);
  EXPECT_EQ(read_file(scratch / "outside"), "precious\n");
  fs::remove(run / "lock");
  fs::create_symlink(scratch / "outside", run / "lock");
  expect_error([&] { run_once(config, run); }, {"a symbolic link is there", "lock"});
  EXPECT_EQ(read_file(scratch / "outside"), "precious\n");
}

/// Of the ways to turn over the bits of a byte, how many may leave the same JSON: E for e in a number, and a
/// last digit beyond what a double holds.
int64_t most_other_spellings(const Json& json) {
  int64_t numbers = 0;
  for (const Json& value : json.flatten()) numbers += value.is_number_float() ? 1 : 0;
  return 2 * numbers;
}

/// The run was stopped in its second epoch, and one of its text files damaged.
class DamagedRun : public ResumeTest {
 protected:
  /// What becomes of it when a file is damaged everywhere, as one that goes on sees it.
  DamageTally damage(const std::string& file, size_t stride) {
    const Continuation good = read_continuation(layout);
    const Json status = read_status(layout);
    return damage_everywhere(run / file, stride, [&] {
      const Continuation read = read_continuation(layout);
      EXPECT_TRUE(read.result.is_null());
      EXPECT_EQ(result_toml(read.config), result_toml(good.config));
      EXPECT_EQ(read.records, good.records);
      EXPECT_EQ(read.threads, good.threads);
      // White space and the spelling of a number may differ.
      if (!read.checkpoint) {
        EXPECT_EQ(read_status(layout), status);
      }
    });
  }
  const RunLayout layout{run};
};

TEST_F(DamagedRun, IsMadeGoodByItsCheckpoint) {
  for (const char* file : {"status.json", "config.toml", "metrics.jsonl", "provenance.json"}) {
    const DamageTally tally = damage(file, 7);
    EXPECT_EQ(tally.cut.noticed + tally.turned.noticed, 0) << file;
    EXPECT_GT(tally.cut.harmless, 0) << file;
    EXPECT_GT(tally.turned.harmless, 0) << file;
  }
}

TEST_F(DamagedRun, IsRefusedWithoutACheckpointWhereItCounts) {
  fs::remove(layout.checkpoint());
  fs::remove(layout.previous_checkpoint());
  const DamageTally config_file = damage("config.toml", 1);
  EXPECT_EQ(config_file.cut.harmless + config_file.turned.harmless, 0);
  const DamageTally status = damage("status.json", 1);
  EXPECT_EQ(status.cut.harmless, 1) << "without the newline at its end";
  EXPECT_LE(status.turned.harmless, most_other_spellings(read_status(layout)));
  // The run begins anew, so that records and provenance do not count.
  for (const char* file : {"metrics.jsonl", "provenance.json"}) {
    const DamageTally tally = damage(file, 1);
    EXPECT_EQ(tally.cut.noticed + tally.turned.noticed, 0) << file;
    EXPECT_GT(tally.turned.harmless, 0) << file;
  }
}

TEST_F(ResumeTest, EveryDamageToAFinishedRunIsNoticed) {
  const Json result = run_once(config, run).result;
  const RunLayout layout{run};
  const std::vector<Json> metrics = read_run(run).metrics;
  const Json status = read_status(layout);
  for (const char* file : {"status.json", "config.toml", "metrics.jsonl"}) {
    SCOPED_TRACE(file);
    const DamageTally tally = damage_everywhere(run / file, 1, [&] {
      EXPECT_EQ(read_run(run).metrics, metrics);
      EXPECT_EQ(read_status(layout), status);
      EXPECT_EQ(read_continuation(layout).result, result);
    });
    const bool is_json = std::string(file) == "status.json";
    EXPECT_EQ(tally.cut.harmless, is_json ? 1 : 0) << "without the newline at its end";
    EXPECT_LE(tally.turned.harmless, is_json ? most_other_spellings(status) : 0);
  }
}

}  // namespace
}  // namespace batchplus
