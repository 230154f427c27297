#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace batchplus {

/// This machine's name.
std::string host_name();

struct ProcessResult {
  int exit_code = 0;
  /// What it printed, standard output and standard error together.
  std::string output;
};

/// Runs a program found on PATH, without a shell, in `directory`, and waits for it.
/// Exit code 127 when there is no such program.
ProcessResult run_process(const std::vector<std::string>& command, const std::filesystem::path& directory);

/// A program that runs beside this one. Killed and waited for at the end of the scope.
class ChildProcess {
 public:
  /// Found on PATH, without a shell; what it prints is appended to `log`. It is in a process group of its
  /// own, so that a terminal's Ctrl-C reaches this program alone, which then decides.
  ChildProcess(const std::vector<std::string>& command, const std::filesystem::path& log);
  /// The same, but it prints where this program prints. `variables`, NAME=VALUE, go on top of this program's
  /// environment.
  ChildProcess(const std::vector<std::string>& command, const std::vector<std::string>& variables);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// The exit code (128 and the signal's number for a killed one) once it has ended.
  std::optional<int> exit_code();
  /// Whether a signal ended it, and not it itself.
  bool was_killed() const { return was_killed_; }
  int id() const { return pid_; }
  /// Sends it a signal, if it still runs.
  void send(int signal);

 private:
  int pid_ = 0;
  std::optional<int> exit_code_;
  bool was_killed_ = false;
};

}  // namespace batchplus
