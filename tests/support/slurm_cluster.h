#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "support/running.h"
#include "support/scratch.h"
#include "util/process.h"

namespace batchplus::testing {

/// A real Slurm of two nodes, node1 and node2, with two cores each; it ends with the object, or with the
/// test.
class SlurmCluster {
 public:
  /// Whether this machine can have one.
  static bool is_possible() { return run_process({kScript, "check"}, "/").exit_code == 0; }

  /// False when it did not come up.
  bool wait() const {
    return wait_until([this] { return std::filesystem::exists(scratch_ / "ready"); });
  }

  /// Runs a command as a user of the cluster does, in `directory`.
  ProcessResult run(const std::vector<std::string>& command,
                    const std::filesystem::path& directory = "/") const {
    std::vector<std::string> words = {kScript, "run", scratch_.path()};
    words.insert(words.end(), command.begin(), command.end());
    return run_process(words, directory);
  }

  /// As if its power went.
  void kill(const std::string& node) const {
    const ProcessResult killed = run_process({kScript, "kill", scratch_.path(), node}, "/");
    EXPECT_EQ(killed.exit_code, 0) << killed.output;
  }

  /// What its daemons had to say.
  std::string log() const { return run({"sh", "-c", "cat \"$0\"/log/*.out", scratch_.path()}).output; }

 private:
  inline static const std::string kScript = BATCHPLUS_SOURCE_DIR "/tests/support/slurm_cluster";

  Scratch scratch_;
  ChildProcess process_{{kScript, "start", scratch_.path().string()}, scratch_ / "start.log"};
};

}  // namespace batchplus::testing
