#include "util/available_memory.h"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

#include "util/text.h"

namespace batchplus {
namespace fs = std::filesystem;
namespace {

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

/// The number after a name at the start of a line: "MemAvailable:  123 kB".
std::optional<int64_t> number_after(const fs::path& file, const std::string& name) {
  std::ifstream lines(file);
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string word;
    int64_t number = 0;
    if (words >> word >> number && word == name) return number;
  }
  return std::nullopt;
}

/// The only number of a file; nothing when it says "max" or is not there.
std::optional<int64_t> number_in(const fs::path& file) {
  std::ifstream stream(file);
  int64_t number = 0;
  if (stream >> number) return number;
  return std::nullopt;
}

constexpr int64_t kKibibyte = 1024;

int64_t left_on_machine() {
  const auto kilobytes = number_after("/proc/meminfo", "MemAvailable:");
  return kilobytes ? *kilobytes * kKibibyte : kUnlimited;
}

/// The groups of the process and all above them: each may set a limit.
int64_t left_in_groups() {
  int64_t least = kUnlimited;
  std::ifstream groups("/proc/self/cgroup");
  std::string line;
  while (std::getline(groups, line)) {
    // 0::/path for v2, 5:memory:/path for v1
    const auto parts = split(line, ':');
    if (parts.size() < 3) continue;
    const bool is_v2 = parts[1].empty();
    const auto controllers = split(parts[1], ',');
    const bool is_memory = std::find(controllers.begin(), controllers.end(), "memory") != controllers.end();
    if (!is_v2 && !is_memory) continue;
    const fs::path root = is_v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    fs::path group = fs::path(parts[2]).relative_path();
    while (true) {
      least = std::min(least, memory_left_in_group(root / group));
      if (group.empty()) break;
      group = group.parent_path();
    }
  }
  return least;
}

int64_t left_in_address_space() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kUnlimited;
  const auto used = number_after("/proc/self/status", "VmSize:");
  return static_cast<int64_t>(limit.rlim_cur) - used.value_or(0) * kKibibyte;
}

}  // namespace

int64_t memory_left_in_group(const fs::path& group) {
  const bool is_v2 = fs::exists(group / "memory.max");
  const auto limit = number_in(group / (is_v2 ? "memory.max" : "memory.limit_in_bytes"));
  const auto used = number_in(group / (is_v2 ? "memory.current" : "memory.usage_in_bytes"));
  // v1 says "no limit" with a number near the largest one.
  constexpr int64_t kBeyondAnyMachine = int64_t{1} << 60;
  if (!limit || !used || *limit > kBeyondAnyMachine) return kUnlimited;
  const auto cache = number_after(group / "memory.stat", is_v2 ? "inactive_file" : "total_inactive_file");
  return *limit - *used + cache.value_or(0);
}

AvailableMemory available_memory() {
  AvailableMemory least{left_on_machine(), "this machine"};
  const AvailableMemory others[] = {{left_in_groups(), "its control group"},
                                    {left_in_address_space(), "ulimit -v"}};
  for (const AvailableMemory& other : others) {
    if (other.bytes < least.bytes) least = other;
  }
  least.bytes = std::max<int64_t>(0, least.bytes);
  return least;
}

}  // namespace batchplus
