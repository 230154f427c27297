#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace batchplus {

/// Which place this process has in a group, as its launcher says.
struct Membership {
  int rank = 0;
  int size = 1;
  /// The same among the group's processes on this machine.
  int local_rank = 0;
  int local_size = 1;
  /// Where the ranks find each other.
  std::string address;
  int port = 0;
  /// Whether the launcher serves that address; otherwise rank 0 does.
  bool is_served = false;
  /// Processes that were started again find each other under another name.
  std::string attempt = "0";
};

/// Who started the processes.
enum class Launcher {
  /// torchrun, or `train` itself, by their variables; nobody where there are none.
  kOwn,
  kSlurm,
  kMpi,
};
/// "own", "slurm" or "mpi"; an Error otherwise.
Launcher parse_launcher(const std::string& text);

/// The value of an environment variable, if it is set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
std::optional<std::string> read_environment(const std::string& name);

/// Nothing for a process that is by itself. An Error where the launcher's variables are missing or make no
/// sense.
std::optional<Membership> find_membership(Launcher launcher, const Environment& environment);

/// The variables that find_membership reads, as NAME=VALUE: for a process that this program starts.
std::vector<std::string> to_variables(const Membership& membership);

}  // namespace batchplus
