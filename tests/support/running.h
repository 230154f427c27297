#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "util/file.h"
#include "util/process.h"
#include "util/text.h"

namespace batchplus::testing {

inline void sleep_for(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

/// Waits until `is_so`; false after a minute.
inline bool wait_until(const std::function<bool()>& is_so) {
  constexpr double kInterval = 0.002;
  for (double waited = 0; waited < 60; waited += kInterval) {
    if (is_so()) return true;
    sleep_for(kInterval);
  }
  return false;
}

/// The exit code of a process that ends by itself.
inline int wait_for(ChildProcess& process) {
  wait_until([&] { return process.exit_code().has_value(); });
  return process.exit_code().value_or(-1);
}

/// The program with these arguments, beside the test.
inline std::vector<std::string> program(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), BATCHPLUS_PROGRAM);
  return arguments;
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
