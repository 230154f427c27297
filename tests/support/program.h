#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "util/process.h"

namespace batchplus::testing {

/// Runs the program as a user does.
inline ProcessResult batchplus(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), BATCHPLUS_PROGRAM);
  return run_process(arguments, "/");
}

/// The JSON of a run that went well.
inline nlohmann::json result_of(const ProcessResult& process) {
  EXPECT_EQ(process.exit_code, 0) << process.output;
  return nlohmann::json::parse(process.output);
}

}  // namespace batchplus::testing
