#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "util/process.h"

namespace batchplus::testing {

/// The program with these arguments.
inline std::vector<std::string> program(const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {BATCHPLUS_PROGRAM};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

/// Runs the program as a user does.
inline ProcessResult batchplus(const std::vector<std::string>& arguments) {
  return run_process(program(arguments), "/");
}

/// Options with more behind them; one that both have keeps the value of the latter, because the program takes
/// no option twice.
inline std::vector<std::string> with_options(std::vector<std::string> options,
                                             const std::vector<std::string>& more) {
  for (size_t i = 0; i + 1 < more.size(); ++i) {
    const bool has_value = more[i].starts_with("--") && !more[i + 1].starts_with("--");
    const auto same = std::find(options.begin(), options.end(), more[i]);
    if (has_value && same != options.end()) options.erase(same, same + 2);
  }
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

/// The JSON of a run that went well.
inline nlohmann::json result_of(const ProcessResult& process) {
  EXPECT_EQ(process.exit_code, 0) << process.output;
  return nlohmann::json::parse(process.output);
}

}  // namespace batchplus::testing
