#include "util/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "util/error.h"

namespace batchplus {
namespace {

std::string read_to_end(int descriptor) {
  std::string text;
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t count = ::read(descriptor, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(buffer.data(), static_cast<size_t>(count));
  }
}

int exit_code_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

enum class Group { kSame, kOwn };

/// As exec takes them: with a null behind them.
std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (const auto& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// This program's environment with `variables` in place of those of the same names.
std::vector<std::string> environment_with(const std::vector<std::string>& variables) {
  std::vector<std::string> result = variables;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string variable = *each;
    const std::string name = variable.substr(0, variable.find('=') + 1);
    const bool is_replaced = std::any_of(variables.begin(), variables.end(),
                                         [&](const std::string& own) { return own.starts_with(name); });
    if (!is_replaced) result.push_back(variable);
  }
  return result;
}

/// Starts the command with these actions, which are used up; an errno when it cannot.
int spawn(const std::vector<std::string>& command, posix_spawn_file_actions_t& actions, Group group,
          pid_t& child, char* const* environment = environ) {
  const std::vector<char*> arguments = pointers_to(command);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  if (group == Group::kOwn) posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  const int problem =
      posix_spawnp(&child, arguments[0], &actions, &attributes, arguments.data(), environment);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return problem;
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

ProcessResult run_process(const std::vector<std::string>& command, const std::filesystem::path& directory) {
  std::array<int, 2> pipe_ends{};
  if (::pipe2(pipe_ends.data(), O_CLOEXEC) != 0) {
    throw Error("cannot start a program",
                {command.front(), std::strerror(errno), "check that it is installed"}, Error::kFailure);
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, directory.c_str());
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDERR_FILENO);

  pid_t child = 0;
  const int problem = spawn(command, actions, Group::kSame, child);
  ::close(pipe_ends[1]);

  ProcessResult result;
  if (problem != 0) {
    result = {127, std::strerror(problem)};
  } else {
    result.output = read_to_end(pipe_ends[0]);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    result.exit_code = exit_code_of(status);
  }
  ::close(pipe_ends[0]);
  return result;
}

ChildProcess::ChildProcess(const std::vector<std::string>& command, const std::filesystem::path& log) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  const int problem = spawn(command, actions, Group::kOwn, pid_);
  if (problem != 0) {
    throw Error("cannot start a program",
                {command.front(), std::strerror(problem), "check that it is installed"}, Error::kFailure);
  }
}

ChildProcess::ChildProcess(const std::vector<std::string>& command,
                           const std::vector<std::string>& variables) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  const std::vector<std::string> environment = environment_with(variables);
  const int problem = spawn(command, actions, Group::kOwn, pid_, pointers_to(environment).data());
  if (problem != 0) {
    throw Error("cannot start a program",
                {command.front(), std::strerror(problem), "check that it is installed"}, Error::kFailure);
  }
}

ChildProcess::~ChildProcess() {
  if (exit_code()) return;
  ::kill(pid_, SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
}

void ChildProcess::send(int signal) {
  if (!exit_code()) ::kill(pid_, signal);
}

std::optional<int> ChildProcess::exit_code() {
  if (exit_code_) return exit_code_;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) == pid_) {
    exit_code_ = exit_code_of(status);
    was_killed_ = WIFSIGNALED(status);
  }
  return exit_code_;
}

}  // namespace batchplus
