#include "config/sweep_file.h"

#include <gtest/gtest.h>

#include "support/example_spec.h"
#include "support/expect_error.h"
#include "support/scratch.h"
#include "util/file.h"

namespace batchplus {
namespace {

using testing::expect_error;
using testing::kSpec;
using testing::Scratch;

SweepFile example(const std::string& scale, const std::vector<std::string>& settings = {}) {
  Spec spec = parse_spec(kSpec, "s.toml");
  for (const std::string& setting : settings) set_everywhere(spec, setting);
  return describe_sweep(spec, scale, expand(spec, scale));
}

TEST(SweepFile, SaysWhatTheSpecSays) {
  const SweepFile sweep = example("paper");
  ASSERT_EQ(sweep.axes.size(), 2U);
  EXPECT_EQ(sweep.axes[0].labels, (std::vector<std::string>{"two-layer", "small"}));
  EXPECT_EQ(sweep.axes[1].labels, (std::vector<std::string>{"BP-SVRG", "NAG"}));
  // Two networks with BP-SVRG at two learning rates and NAG at one, three seeds each.
  EXPECT_EQ(sweep.runs.size(), 2U * 3 * 3);
  EXPECT_EQ(sweep.choice_key, "lr");
  EXPECT_EQ(sweep.choice_by, "test_accuracy");
  ASSERT_EQ(sweep.published.size(), 1U);
  EXPECT_EQ(sweep.published[0].labels, (std::vector<std::string>{"small", "NAG"}));
  EXPECT_EQ(sweep.published[0].value.mean, 90);
  EXPECT_TRUE(sweep.note.empty());
}

TEST(SweepFile, HasOnlyWhatTheScaleLeavesInAndSaysSo) {
  const SweepFile sweep = example("smoke");
  EXPECT_EQ(sweep.axes[0].labels, std::vector<std::string>{"small"});
  EXPECT_EQ(sweep.runs.size(), 3U);
  EXPECT_EQ(
      sweep.note,
      "less than the whole: 0.1 times the epochs; at most 1 seed; train_limit = 320; network only small.");
}

TEST(SweepFile, KeepsWhatWasSetByHand) {
  const SweepFile sweep = example("paper", {"momentum=0.8", "repeats=2"});
  EXPECT_EQ(sweep.settings, (std::vector<std::string>{"momentum=0.8", "repeats=2"}));
  EXPECT_EQ(sweep.note, "set by hand: momentum = 0.8, repeats = 2.");
}

// An older file has no checksum, so anybody can change it.
TEST(SweepFile, SmoothsByAWindowThatThereIs) {
  const Scratch scratch;
  for (const auto& [given, taken] : std::map<int64_t, int64_t>{{-3, 1}, {0, 1}, {1, 1}, {4, 3}, {5, 5}}) {
    Json json = to_json(example("paper"));
    json.erase("checksum");
    json["report"]["smooth"] = given;
    write_file_atomically(scratch / "sweep.json", json.dump());
    EXPECT_EQ(read_sweep_file(scratch / "sweep.json").report.smooth, taken) << given;
  }
}

// What all runs share stands there once.
TEST(SweepFile, KnowsTheConfigOfEachRun) {
  const Scratch scratch;
  SweepFile sweep = example("paper");
  for (SweepFile::Run& run : sweep.runs) run.config = {{"epochs", "2"}, {"init", ""}, {"seed", run.id}};
  sweep.runs[0].config.erase("init");
  const Json json = to_json(sweep);
  EXPECT_EQ(json["config"], Json({{"epochs", "2"}}));
  EXPECT_EQ(json["runs"][1]["config"], Json({{"init", ""}, {"seed", sweep.runs[1].id}}));
  write_file_atomically(scratch / "sweep.json", json.dump());
  const SweepFile read = read_sweep_file(scratch / "sweep.json");
  for (size_t i = 0; i < sweep.runs.size(); ++i) EXPECT_EQ(read.runs[i].config, sweep.runs[i].config);
  EXPECT_EQ(find_run(read, sweep.runs[3].id)->seed, sweep.runs[3].seed);
  EXPECT_EQ(find_run(read, "none"), nullptr);

  RunConfig config;
  config.epochs = 6;
  EXPECT_EQ(describe_differences({{"epochs", "2"}, {"lr", "0.1"}, {"init", "w.pt"}}, config),
            "init is not set, not w.pt; epochs is 6, not 2");
  EXPECT_EQ(describe_differences(result_values(config), config), "");
}

TEST(SweepFile, ReadsBackWhatWasWritten) {
  const Scratch scratch;
  for (const char* scale : {"paper", "smoke"}) {
    const Json json = to_json(example(scale, {"momentum=0.8"}));
    write_file_atomically(scratch / "sweep.json", json.dump());
    EXPECT_EQ(to_json(read_sweep_file(scratch / "sweep.json")), json);
  }
}

TEST(SweepFile, OfASweepFromBeforeLevelsOfTheLossHasNone) {
  const Scratch scratch;
  Spec spec = parse_spec(kSpec + "[report]\nat_loss = [0.5]\n", "s.toml");
  Json json = to_json(describe_sweep(spec, "paper", expand(spec, "paper")));
  write_file_atomically(scratch / "sweep.json", json.dump());
  EXPECT_EQ(read_sweep_file(scratch / "sweep.json").report.at_loss, std::vector<double>{0.5});
  json["report"].erase("at_loss");
  json.erase("checksum");
  write_file_atomically(scratch / "sweep.json", json.dump());
  EXPECT_TRUE(read_sweep_file(scratch / "sweep.json").report.at_loss.empty());
}

TEST(SweepFile, NoticesThatItWasChanged) {
  const Scratch scratch;
  const Json good = to_json(example("paper"));
  std::string changed = good.dump(1);
  const std::string seed = "\"seed\": 1";
  ASSERT_NE(changed.find(seed), std::string::npos);
  changed.replace(changed.find(seed), seed.size(), "\"seed\": 7");
  write_file_atomically(scratch / "sweep.json", changed);
  expect_error([&] { read_sweep_file(scratch / "sweep.json"); }, {"not as it was written", "sweep.json"});
  Json older = good;
  older.erase("checksum");
  write_file_atomically(scratch / "sweep.json", older.dump());
  EXPECT_EQ(to_json(read_sweep_file(scratch / "sweep.json")), good) << "one from before has no checksum";
}

TEST(SweepFile, RefusesWhatIsNoSweep) {
  const Scratch scratch;
  const auto refuse = [&](const Json& json, std::initializer_list<std::string> words) {
    write_file_atomically(scratch / "sweep.json", json.dump());
    expect_error([&] { read_sweep_file(scratch / "sweep.json"); }, words);
  };
  Json good = to_json(example("paper"));
  good.erase("checksum");
  for (const auto& [key, value] : good.items()) {
    if (key == "choice") continue;  // a sweep may have none
    Json lacking = good;
    lacking.erase(key);
    refuse(lacking, {"not the description of a sweep"});
  }
  for (const Json& wrong : {Json(nullptr), Json("x"), Json::array()}) refuse(wrong, {"not the description"});
  Json newer = good;
  newer["format_version"] = 2;
  refuse(newer, {"format", "2", "newer"});
  Json unknown = good;
  unknown["report"]["x"] = "second";
  refuse(unknown, {"unknown x axis", "sweep.json", "did you mean 'seconds'?"});
  Json elsewhere = good;
  elsewhere["runs"][0]["cell"].erase("method");
  refuse(elsewhere, {"not the description"});
}

}  // namespace
}  // namespace batchplus
