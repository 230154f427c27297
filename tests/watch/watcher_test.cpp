#include "watch/watcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "config/spec.h"
#include "config/sweep_file.h"
#include "support/finished_run.h"
#include "support/running.h"
#include "watch/watch_tree.h"

namespace batchplus {
namespace {

namespace fs = std::filesystem;
using testing::begin_run;
using ::testing::HasSubstr;
using testing::record_of;
using testing::Scratch;

std::vector<Json> summaries(const Watcher& watcher, uint64_t since = 0) {
  std::vector<Json> all;
  for (const auto& row : watcher.changes_since(since).rows) all.push_back(Json::parse(*row.summary));
  return all;
}

Json only(const Watcher& watcher) {
  const auto all = summaries(watcher);
  EXPECT_EQ(all.size(), 1U);
  return all.empty() ? Json::object() : all.front();
}

TEST(Watcher, FindsRunsAsTheyAppearAndForgetsThoseThatGo) {
  const Scratch scratch;
  Watcher watcher({scratch.path()});
  watcher.look();
  EXPECT_TRUE(summaries(watcher).empty());
  testing::write_run(scratch / "a" / "b" / "run", {.seed = 7});
  watcher.look();
  const Json run = only(watcher);
  EXPECT_EQ(run["status"], "done");
  EXPECT_EQ(run["progress"], 1);
  EXPECT_EQ(run["seed"], 7);
  EXPECT_EQ(run["path"], fs::canonical(scratch / "a" / "b" / "run").string());
  const uint64_t before = watcher.version();
  fs::remove_all(scratch / "a");
  watcher.look();
  EXPECT_TRUE(summaries(watcher).empty());
  EXPECT_EQ(watcher.changes_since(before).gone, std::vector<std::string>{run["id"]});
}

TEST(Watcher, FollowsARunFromItsFirstRecordToItsEnd) {
  const Scratch scratch;
  Watcher watcher({scratch.path()});
  {
    RunWriter run = begin_run(scratch / "run");
    watcher.look();
    EXPECT_EQ(only(watcher)["status"], "running");
    EXPECT_EQ(only(watcher)["records"], 0);
    run.record(record_of(1));
    run.record(record_of(2));
    watcher.look();
    EXPECT_EQ(only(watcher)["records"], 2);
    EXPECT_EQ(only(watcher)["progress"], 0.2);
    EXPECT_EQ(only(watcher)["last"]["test_accuracy"], 52);
    // 400 sample gradients in 2 s.
    EXPECT_EQ(only(watcher)["samples_per_second"], 200);
    run.set_status("done", {{"test_accuracy", 52}});
  }
  watcher.look();
  // Ended runs are looked at now and then; this one had not.
  EXPECT_EQ(only(watcher)["status"], "done");
  EXPECT_EQ(only(watcher)["records"], 2) << "the records are written anew at the end, and count once";
}

TEST(Watcher, TellsARunThatNobodyHoldsFromOneThatRunsAgain) {
  const Scratch scratch;
  Watcher watcher({scratch.path()});
  {
    RunWriter run = begin_run(scratch / "run");
    run.record(record_of(1));
    watcher.look();
    EXPECT_EQ(only(watcher)["status"], "running");
  }
  watcher.look();
  EXPECT_EQ(only(watcher)["status"], "interrupted") << "its lock is free, as after a kill";
  RunWriter again(scratch / "run");
  again.resume(read_file(scratch / "run" / "config.toml"), Json::object(), record_of(1).dump() + "\n");
  again.record(record_of(2));
  watcher.look();
  EXPECT_EQ(only(watcher)["status"], "running");
  EXPECT_EQ(only(watcher)["records"], 2);
}

TEST(Watcher, TakesNoLockAndWritesNothing) {
  const Scratch scratch;
  { begin_run(scratch / "run"); }
  std::map<fs::path, fs::file_time_type> before;
  const auto times = [&] {
    std::map<fs::path, fs::file_time_type> all;
    for (const auto& entry : fs::recursive_directory_iterator(scratch.path()))
      all[entry.path()] = fs::last_write_time(entry.path());
    return all;
  };
  before = times();
  Watcher watcher({scratch.path()});
  watcher.look();
  EXPECT_EQ(times(), before);
  const auto lock = FileLock::try_lock(scratch / "run" / "lock");
  watcher.look();
  EXPECT_TRUE(lock);
}

TEST(Watcher, ShowsABrokenRunAsBrokenAndTheOthersAsTheyAre) {
  const Scratch scratch;
  testing::write_run(scratch / "whole", {});
  testing::write_run(scratch / "status", {});
  append_bytes(scratch / "status" / "status.json", "{");
  testing::write_run(scratch / "config", {});
  append_bytes(scratch / "config" / "config.toml", "nonsense = 1\n");
  testing::write_run(scratch / "records", {});
  append_bytes(scratch / "records" / "metrics.jsonl", "not a record\n");
  testing::write_run(scratch / "edited", {});
  std::string records = read_file(scratch / "edited" / "metrics.jsonl");
  records[records.find("0.") + 2] ^= 1;
  write_file_atomically(scratch / "edited" / "metrics.jsonl", records);
  testing::write_run(scratch / "cut", {});
  fs::resize_file(scratch / "cut" / "metrics.jsonl", 30);
  testing::write_run(scratch / "missing", {});
  fs::remove(scratch / "missing" / "config.toml");
  testing::write_run(scratch / "link", {});
  fs::remove(scratch / "link" / "status.json");
  fs::create_symlink("/etc/passwd", scratch / "link" / "status.json");
  fs::create_directories(scratch / "fifo");
  testing::write_run(scratch / "long", {});
  append_bytes(scratch / "long" / "metrics.jsonl", std::string(2 << 20, 'x'));
  Watcher watcher({scratch.path()});
  watcher.look();
  watcher.look();
  std::map<std::string, std::string> states;
  for (const Json& run : summaries(watcher)) {
    states[fs::path(run["path"].get<std::string>()).filename()] = run["status"];
    EXPECT_EQ(run["status"] == "broken", run.contains("problem")) << run;
    EXPECT_THAT(run.dump(), ::testing::Not(HasSubstr("root:")));
  }
  const std::map<std::string, std::string> expected = {
      {"whole", "done"},     {"status", "broken"}, {"config", "broken"},
      {"records", "broken"}, {"edited", "broken"}, {"cut", "broken"},
      {"missing", "broken"}, {"link", "waiting"},  {"long", "broken"}};
  EXPECT_EQ(states, expected);
}

TEST(Watcher, LeavesALineWithoutItsEndForLater) {
  const Scratch scratch;
  RunWriter run = begin_run(scratch / "run");
  Watcher watcher({scratch.path()});
  run.record(record_of(1));
  const std::string line = record_of(2).dump();
  append_bytes(scratch / "run" / "metrics.jsonl", line.substr(0, 10));
  watcher.look();
  EXPECT_EQ(only(watcher)["records"], 1);
  append_bytes(scratch / "run" / "metrics.jsonl", line.substr(10) + "\n");
  watcher.look();
  EXPECT_EQ(only(watcher)["records"], 2);
  EXPECT_EQ(only(watcher)["status"], "running");
}

TEST(Watcher, DoesNotFollowLinksOutOfAFolder) {
  const Scratch outside;
  testing::write_run(outside / "secret", {});
  const Scratch scratch;
  fs::create_directory_symlink(outside / "secret", scratch / "linked");
  Watcher watcher({scratch.path()});
  watcher.look();
  EXPECT_TRUE(summaries(watcher).empty());
}

TEST(Watcher, CountsOnlyWhatChangedSinceAVersion) {
  const Scratch scratch;
  RunWriter one = begin_run(scratch / "one");
  RunWriter two = begin_run(scratch / "two");
  Watcher watcher({scratch.path()});
  watcher.look();
  const uint64_t seen = watcher.version();
  watcher.look();
  EXPECT_EQ(watcher.version(), seen) << "nothing happened";
  two.record(record_of(1));
  watcher.look();
  const auto changed = summaries(watcher, seen);
  ASSERT_EQ(changed.size(), 1U);
  EXPECT_THAT(changed[0]["path"].get<std::string>(), HasSubstr("/two"));
}

/// Whether a thread that looks by itself shows what it should, sooner or later.
bool comes(const Watcher& watcher, const std::function<bool(const Json&)>& is_so) {
  constexpr double kSeconds = 600;
  return testing::wait_until(
      [&] {
        const auto all = summaries(watcher);
        return std::any_of(all.begin(), all.end(), is_so);
      },
      kSeconds);
}

TEST(Watcher, LooksByItselfAtWhatIsWrittenAlsoIntoRunsThatHadEnded) {
  const Scratch scratch;
  testing::write_run(scratch / "ended", {.seed = 1});
  RunWriter running = begin_run(scratch / "running");
  Watcher watcher({scratch.path()});
  watcher.start({});
  watcher.wait_for_first_look();
  EXPECT_EQ(summaries(watcher).size(), 2U) << "all are there after the first look";
  EXPECT_TRUE(comes(watcher, [](const Json& run) { return run["records"] == 1; }));
  append_bytes(scratch / "ended" / "metrics.jsonl", record_of(2).dump() + "\n");
  EXPECT_TRUE(comes(watcher, [](const Json& run) {
    return run["status"] == "broken" && run["records"] == 2;
  })) << "what is added to a run that has ended is not its own";
  for (int epoch = 1; epoch <= 3; ++epoch) running.record(record_of(epoch));
  EXPECT_TRUE(
      comes(watcher, [](const Json& run) { return run["status"] == "running" && run["records"] == 3; }));
  RunWriter later = begin_run(scratch / "later");
  later.record(record_of(7));
  EXPECT_TRUE(comes(watcher, [](const Json& run) { return run["last"].value("epoch", 0) == 7; }));
}

TEST(Watcher, SaysWhatItHasNotReadYet) {
  const Scratch scratch;
  testing::write_run(scratch / "run", {});
  Watcher watcher({scratch.path()});
  watcher.look(/*seconds_for_records=*/0);
  EXPECT_EQ(only(watcher)["status"], "done");
  EXPECT_EQ(only(watcher)["is_being_read"], true);
  watcher.look();
  EXPECT_EQ(only(watcher)["records"], 1);
  EXPECT_FALSE(only(watcher).contains("is_being_read"));
}

TEST(Watcher, LetsNobodyWaitAfterItsEnd) {
  const Scratch scratch;
  Watcher watcher({scratch.path()});
  EXPECT_GT(watcher.version(), 0U) << "who has seen it has seen something, also where there is nothing";
  watcher.stop();
  watcher.wait_for_first_look();
}

/// A sweep of two methods by two seeds.
void write_sweep(const fs::path& root) {
  SweepFile sweep{.name = "one", .title = "One sweep", .scale = "full", .note = "", .settings = {}};
  sweep.axes = {{"method", {"NAG", "SGD"}}};
  for (const std::string label : {"NAG", "SGD"}) {
    for (const int64_t seed : {1, 2}) sweep.runs.push_back({label + std::to_string(seed), seed, {label}});
  }
  fs::create_directories(root / "failed");
  fs::create_directories(root / "progress");
  write_file_atomically(root / "sweep.json", to_json(sweep).dump());
}

TEST(Watcher, ShowsEveryRunOfASweepWithWhatTheSweepSaysOfIt) {
  const Scratch scratch;
  write_sweep(scratch / "sweep");
  testing::write_run(scratch / "sweep" / "runs" / "NAG1", {.seed = 1});
  RunWriter running = begin_run(scratch / "sweep" / "runs" / "NAG2");
  write_file_atomically(scratch / "sweep" / "progress" / "NAG2", "0.25");
  write_file_atomically(scratch / "sweep" / "failed" / "SGD1.json", R"({"error": "out of <memory>"})");
  Watcher watcher({scratch.path()});
  watcher.look();
  std::map<std::string, Json> runs;
  for (const Json& run : summaries(watcher)) runs[fs::path(run["path"].get<std::string>()).filename()] = run;
  ASSERT_EQ(runs.size(), 4U);
  EXPECT_EQ(runs["NAG1"]["status"], "done");
  EXPECT_EQ(runs["NAG2"]["status"], "running");
  EXPECT_EQ(runs["NAG2"]["progress"], 0.25);
  EXPECT_EQ(runs["SGD1"]["status"], "failed");
  EXPECT_EQ(runs["SGD1"]["error"], "out of <memory>");
  EXPECT_EQ(runs["SGD2"]["status"], "waiting");
  EXPECT_EQ(runs["SGD2"]["labels"], Json::array({"SGD"}));
  EXPECT_EQ(watcher.sweeps().size(), 1U);
}

TEST(Watcher, RefusesASweepWhoseRunsLeadElsewhere) {
  const Scratch scratch;
  SweepFile sweep{.name = "one", .title = "", .scale = "", .note = "", .settings = {}};
  sweep.axes = {{"method", {"NAG"}}};
  sweep.runs.push_back({"../../../etc", 1, {"NAG"}});
  fs::create_directories(scratch / "sweep");
  write_file_atomically(scratch / "sweep" / "sweep.json", to_json(sweep).dump());
  Watcher watcher({scratch.path()});
  watcher.look();
  EXPECT_TRUE(summaries(watcher).empty());
  ASSERT_EQ(watcher.sweeps().size(), 1U);
  EXPECT_FALSE(watcher.sweeps()[0].problem.empty());
}

}  // namespace
}  // namespace batchplus
