// Specs that come with the program are found by name.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/installed_program.h"
#include "support/one_run_spec.h"
#include "support/program.h"
#include "support/scratch.h"
#include "support/smoke_runs.h"
#include "util/file.h"

namespace batchplus::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;

/// The plan of a spec that is named in `directory`.
json plan_of(const std::string& spec, const fs::path& directory,
             const std::string& program = BATCHPLUS_PROGRAM) {
  return result_of(
      run_process({program, "sweep", spec, "--dry-run", "--no-calibration", "--json"}, directory));
}

TEST(SpecNames, MeanTheSpecsOfTheSourceTree) {
  const Scratch scratch;
  const std::string specs = BATCHPLUS_SOURCE_DIR "/specs/";
  for (const std::string name : {"demo", "smoke/methods"})
    EXPECT_EQ(plan_of(name, scratch.path()), plan_of(specs + name + ".toml", scratch.path())) << name;
}

TEST(SpecNames, GiveWayToAFileOfThatName) {
  const Scratch scratch;
  write_file_atomically(scratch / "demo", kOneRunSpec);
  EXPECT_EQ(plan_of("demo", scratch.path())["runs"].size(), 1U);
}

// A sweep's directory is often called as its spec, and the same command goes on with it.
TEST(SpecNames, DoNotGiveWayToADirectory) {
  const Scratch scratch;
  fs::create_directory(scratch / "demo");
  EXPECT_EQ(plan_of("demo", scratch.path())["runs"].size(), 15U);
}

TEST(SpecNames, MeanTheSpecsThatWereInstalled) {
  const Scratch scratch;
  const std::string program = copy_program(scratch / "prefix").string();
  fs::create_directories(scratch / "prefix/specs");  // somebody's own
  fs::create_directories(scratch / "prefix/share/batchplus/specs/own");
  write_file_atomically(scratch / "prefix/share/batchplus/specs/own/spec.toml", kOneRunSpec);
  EXPECT_EQ(plan_of("own/spec", scratch.path(), program)["runs"].size(), 1U);
}

TEST(SpecNames, ThatDoNotExistAreAnsweredWithTheNearest) {
  for (const char* command : {"sweep", "report"}) {
    const ProcessResult result = batchplus({command, "paper/tabel3"});
    EXPECT_EQ(result.exit_code, 2) << result.output;
    EXPECT_THAT(result.output, HasSubstr("there is no such spec"));
    EXPECT_THAT(result.output, HasSubstr("paper/table3"));
  }
  // What is like no spec is a path.
  EXPECT_THAT(batchplus({"report", "/nothing/here"}).output, HasSubstr("not a directory"));
}

TEST(SpecNames, AreTakenByReports) {
  const Scratch scratch;
  const json report =
      result_of(batchplus({"report", "smoke/methods", "--runs", smoke_runs().string(), "--no-figures",
                           "--json", "--out", (scratch / "report").string()}));
  EXPECT_TRUE(report.is_object());
  EXPECT_TRUE(fs::exists(scratch / "report/index.html"));
}

}  // namespace
}  // namespace batchplus::testing
