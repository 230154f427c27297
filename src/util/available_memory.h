#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace batchplus {

/// Memory that this process can still take, and what sets the limit.
struct AvailableMemory {
  int64_t bytes = 0;
  /// "this machine", "its control group", "ulimit -v".
  std::string limited_by;
};

/// The least of what is free on the machine (MemAvailable), under the control groups that the process is in
/// (v2 and v1), and under its address space limit. Page cache counts as free.
AvailableMemory available_memory();

/// What is left under one control group's limit: a directory with memory.max (v2) or memory.limit_in_bytes
/// (v1). INT64_MAX without a limit.
int64_t memory_left_in_group(const std::filesystem::path& group);

}  // namespace batchplus
