#include "util/process.h"

#include <gtest/gtest.h>

namespace batchplus {
namespace {

TEST(RunProcess, ReturnsOutputAndExitCode) {
  const ProcessResult result = run_process({"sh", "-c", "pwd; echo problem >&2; exit 7"}, "/");
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_EQ(result.output, "/\nproblem\n");
}

TEST(RunProcess, UsesNoShell) {
  EXPECT_EQ(run_process({"echo", "$HOME; ls"}, ".").output, "$HOME; ls\n");
}

TEST(RunProcess, SaysWhenThereIsNoSuchProgram) {
  EXPECT_EQ(run_process({"batchplus-no-such-program"}, ".").exit_code, 127);
}

TEST(RunProcess, ReportsASignal) {
  EXPECT_EQ(run_process({"sh", "-c", "kill -TERM $$"}, ".").exit_code, 128 + 15);
}

}  // namespace
}  // namespace batchplus
