// The program is a launcher without libtorch and a core with it, behind one name.

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
using ::testing::Not;

/// What the program prints, and among it what the dynamic linker says of every library that it loads.
ProcessResult run_traced(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"env", "LD_DEBUG=files", BATCHPLUS_PROGRAM});
  return run_process(arguments, "/");
}

TEST(Launcher, LoadsNoLibtorchForCommandsThatNeedNone) {
  const Scratch scratch;
  const std::string runs = smoke_runs().string();
  const std::string out = (scratch / "report").string();
  const std::vector<std::pair<std::vector<std::string>, int>> lines = {
      {{"--help"}, 0},          {{"--version"}, 0},
      {{"train", "--help"}, 0}, {{"measure", "--help"}, 0},
      {{"methods"}, 0},         {{"report", runs, "--no-figures", "--out", out}, 0},
      {{"check", runs}, 0},     {{"train", "--no-such-option"}, 2},
      {{"trian"}, 2},           {{"report", (scratch / "nothing").string()}, 2},
      {{"data", "list"}, 0},    {{"data", "verify", "synthetic"}, 0},
  };
  for (const auto& [line, exit_code] : lines) {
    const ProcessResult result = run_traced(line);
    EXPECT_EQ(result.exit_code, exit_code) << line.front();
    EXPECT_THAT(result.output, Not(HasSubstr("file=libtorch"))) << line.front();
  }
  // This is how it would show.
  EXPECT_THAT(run_traced({"models", "show", "mlp"}).output, HasSubstr("file=libtorch"));
}

TEST(Launcher, HasTheCatalogOfTheCore) {
  const ProcessResult core = run_process({core_of_program().string(), "methods", "--json"}, "/");
  ASSERT_EQ(core.exit_code, 0) << core.output;
  EXPECT_EQ(batchplus({"methods", "--json"}).output, core.output);
  EXPECT_EQ(batchplus({"measure", "--help"}).output,
            run_process({core_of_program().string(), "measure", "--help"}, "/").output);
}

TEST(Launcher, GivesTheExitCodeAndTheWordsOfItsCore) {
  const ProcessResult result = batchplus({"models", "show", "nothing"});
  EXPECT_EQ(result.exit_code, 2) << result.output;
  EXPECT_THAT(result.output, HasSubstr("batchplus: unknown model"));
}

// Who started the launcher has the number of the process that trains.
TEST(Launcher, IsOneProcessWithItsCore) {
  const Scratch scratch;
  // The core is what opens the config, and waits there until it is written.
  const std::string script =
      "mkfifo config; \"$0\" train --config config & exec 3> config; readlink /proc/$!/exe; "
      "echo nonsense = 1 >&3; exec 3>&-; wait $!";
  const ProcessResult result = run_process({"sh", "-c", script, BATCHPLUS_PROGRAM}, scratch.path());
  EXPECT_EQ(result.exit_code, 2) << result.output;
  EXPECT_THAT(result.output, HasSubstr("batchplus-core"));
}

TEST(Launcher, FindsItsCoreWhereverBothAreInstalled) {
  const Scratch scratch;
  const std::string program = copy_program(scratch / "elsewhere").string();
  fs::create_symlink(program, scratch / "link");
  for (const std::string& called : {program, (scratch / "link").string()}) {
    const ProcessResult result = run_process({called, "models", "show", "mlp", "--json"}, "/");
    EXPECT_EQ(result_of(result)["name"], "mlp");
  }
}

TEST(Launcher, StartsWorkersByTheNameThatPeopleCall) {
  const Scratch scratch;
  const fs::path program = copy_program(scratch / "prefix");
  write_file_atomically(scratch / "spec.toml", kOneRunSpec);
  // A stand-in for the launcher notes how it is called.
  fs::remove(program);
  write_file_atomically(program,
                        "#!/bin/sh\necho \"$1\" >> \"" + (scratch / "calls").string() +
                            "\"\nexec \"$(dirname \"$0\")/../libexec/batchplus/batchplus-core\" \"$@\"\n");
  fs::permissions(program, fs::perms::owner_all);
  const ProcessResult result =
      run_process({program.string(), "sweep", (scratch / "spec.toml").string(), "--out",
                   (scratch / "sweep").string(), "--workers", "1", "--quiet"},
                  "/");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_EQ(read_file(scratch / "calls"), "sweep\nsweep\n");
}

TEST(Launcher, SaysWhatIsMissingWithoutItsCore) {
  const Scratch scratch;
  const std::string program = copy_program(scratch / "prefix").string();
  fs::remove_all(scratch / "prefix/libexec");
  const ProcessResult models = run_process({program, "models"}, "/");
  EXPECT_EQ(models.exit_code, 1);
  EXPECT_THAT(models.output, HasSubstr("a part of the program is missing"));
  EXPECT_THAT(models.output, HasSubstr((scratch / "prefix/libexec/batchplus/batchplus-core").string()));
  EXPECT_EQ(run_process({program, "methods"}, "/").exit_code, 0);
}

TEST(Version, SaysWhatARunsProvenanceSays) {
  const std::string version = batchplus({"--version"}).output;
  fs::path run;
  for (const auto& entry : fs::directory_iterator(smoke_runs() / "runs")) run = entry.path();
  const json about = json::parse(read_file(run / "provenance.json"));
  for (const char* key : {"batchplus", "commit", "libtorch", "instruction_set", "processor"})
    EXPECT_THAT(version, HasSubstr(about[key].get<std::string>()));
  EXPECT_THAT(version, HasSubstr("revision " + about["kernels_revision"].dump()));
}

TEST(Version, SaysByWhichInstructionsItWouldCompute) {
  const auto version = [](const std::string& variable) {
    return run_process({"env", "BATCHPLUS_CPU=" + variable, BATCHPLUS_PROGRAM, "--version"}, "/");
  };
  EXPECT_THAT(version("baseline").output, HasSubstr("by baseline"));
  EXPECT_EQ(version("abacus").exit_code, 2);
}

}  // namespace
}  // namespace batchplus::testing
