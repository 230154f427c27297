#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "support/program.h"
#include "util/file.h"
#include "util/process.h"
#include "util/text.h"

namespace batchplus::testing {

inline void sleep_for(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

/// Waits until `is_so`, which it asks every so many seconds; false after a minute, or as many seconds as
/// given.
inline bool wait_until(const std::function<bool()>& is_so, double seconds = 60, double interval = 0.002) {
  for (double waited = 0; waited < seconds; waited += interval) {
    if (is_so()) return true;
    sleep_for(interval);
  }
  return false;
}

/// The exit code of a process that ends by itself.
inline int wait_for(ChildProcess& process) {
  wait_until([&] { return process.exit_code().has_value(); });
  return process.exit_code().value_or(-1);
}

/// Whether a process has no such signal before it any more: it took the one that it was sent.
inline bool has_taken(const ChildProcess& process, int signal) {
  std::ifstream status(fmt::format("/proc/{}/status", process.id()));
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("SigPnd:") && !line.starts_with("ShdPnd:")) continue;
    constexpr int kHexadecimal = 16;
    const uint64_t pending = std::stoull(line.substr(line.find('\t') + 1), nullptr, kHexadecimal);
    if ((pending >> (signal - 1) & 1) != 0) return false;
  }
  return true;
}

/// What a process has computed so far, in seconds of one core.
inline double computed_seconds(const ChildProcess& process) {
  std::string stat;
  std::getline(std::ifstream(fmt::format("/proc/{}/stat", process.id())), stat);
  // "14  utime", counted from 1; the second field is the name in parentheses and may hold anything.
  constexpr size_t kTicks = 14 - 3;
  const std::vector<std::string> fields = split(stat.substr(stat.rfind(')') + 2), ' ');
  return std::stod(fields.at(kTicks)) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

/// The records of a run without their times.
inline std::vector<nlohmann::json> timeless_records(const std::filesystem::path& run) {
  std::vector<nlohmann::json> records;
  for (const std::string& line : split(read_file(run / "metrics.jsonl"), '\n')) {
    if (line.empty()) continue;
    nlohmann::json record = nlohmann::json::parse(line);
    record.erase("seconds");
    record.erase("metrics_seconds");
    records.push_back(record);
  }
  return records;
}

inline std::string weights_of_run(const std::filesystem::path& run) {
  return nlohmann::json::parse(read_file(run / "status.json")).value("weights_sha256", "none");
}

}  // namespace batchplus::testing
