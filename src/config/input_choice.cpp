#include "config/input_choice.h"

#include <fmt/format.h>

namespace batchplus {

std::string describe_input(const std::string& input) {
  if (input == "init") return "initial weights";
  return fmt::format("{} data", input == "train" ? "training" : input);
}

std::string input_choice(const std::string& input, const RunConfig& config) {
  if (input == "init") return config.init;
  const std::string common = fmt::format("{} {} {}", config.dataset, config.split_seed,
                                         config.sampling == "sequential" ? "the first" : "any");
  if (input == "test") return fmt::format("{} {}", common, config.test_limit);
  if (input == "validation") return fmt::format("{} {}", common, config.validation);
  // Training samples are chosen among those that validation leaves.
  return fmt::format("{} {} {}", common, config.validation, config.train_limit);
}

}  // namespace batchplus
