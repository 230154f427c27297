#include "sweep/slurm_script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "support/expect_error.h"
#include "util/error.h"
#include "util/process.h"

namespace batchplus {
namespace {

using ::testing::HasSubstr;

std::string script_with(const SlurmOptions& options, const std::string& logs = "/sweep/logs") {
  return slurm_script("name", {"/bin/program", "--index"}, "/work", logs, options);
}

SlurmOptions with_others(const std::vector<std::string>& others) {
  SlurmOptions options;
  options.others = others;
  return options;
}

TEST(SlurmArrays, HaveEveryRunOnceAndNoTaskAboveTheLimit) {
  std::vector<int64_t> all(20);
  std::iota(all.begin(), all.end(), 0);
  const auto arrays = split_into_arrays(all, 8);
  ASSERT_EQ(arrays.size(), 3U);
  EXPECT_EQ(arrays[0].tasks, "0-7");
  EXPECT_EQ(arrays[1].first, 8);
  EXPECT_EQ(arrays[1].tasks, "0-7");
  EXPECT_EQ(arrays[2].first, 16);
  EXPECT_EQ(arrays[2].tasks, "0-3");
  EXPECT_EQ(arrays[2].runs, 4);
}

TEST(SlurmArrays, LeaveOutRunsThatHaveAResult) {
  const auto arrays = split_into_arrays({1, 2, 3, 6, 7, 8, 30}, 8);
  ASSERT_EQ(arrays.size(), 3U);
  EXPECT_EQ(arrays[0].tasks, "1-3,6-7");
  EXPECT_EQ(arrays[0].runs, 5);
  EXPECT_EQ(arrays[1].tasks, "0");
  EXPECT_EQ(arrays[2].first, 24);
  EXPECT_EQ(arrays[2].tasks, "6");
  EXPECT_TRUE(split_into_arrays({}, 8).empty());
}

// A real shell is the judge.
TEST(SlurmScript, QuotesWhatAShellWouldTakeApart) {
  for (const std::string text : {"plain", "two words", "bob's", "\"$HOME\" `id` \\ *", "'", ""})
    EXPECT_EQ(run_process({"sh", "-c", "printf %s " + quote(text)}, "/").output, text);
}

TEST(SlurmScript, SavesAndQueuesAgainUnlessToldOtherwise) {
  const std::string script = script_with({});
  EXPECT_THAT(script, HasSubstr("#SBATCH --requeue\n#SBATCH --signal='B:TERM@120'\n"));
  EXPECT_EQ(script.find("--time"), std::string::npos) << "the cluster's own";
  const std::string other = script_with(with_others({"--signal=B:TERM@600", "--exclusive"}));
  EXPECT_GT(other.find("B:TERM@600"), other.find("B:TERM@120")) << "sbatch takes the last";
  EXPECT_THAT(other, HasSubstr("#SBATCH --exclusive\n"));
}

TEST(SlurmScript, LogsAreNamedByArrayAndTaskAlone) {
  EXPECT_THAT(script_with({}, "/5%a/logs"), HasSubstr("--output='/5%%a/logs/slurm-%A_%a.log'"));
  testing::expect_error([] { script_with({}, "/a\\b"); }, {"a\\b", "backslash"});
}

TEST(SlurmScript, RefusesWhatIsNoOptionOfSbatch) {
  testing::expect_error([] { script_with(with_others({"account=lab"})); }, {"account=lab", "=--account=lab"});
  testing::expect_error([] { script_with(with_others({"--array=1-3"})); }, {"--array=1-3", "decided"});
  testing::expect_error([] { script_with(with_others({"--comment=a\nb"})); }, {"line"});
}

}  // namespace
}  // namespace batchplus
