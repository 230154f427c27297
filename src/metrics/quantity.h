#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "util/json.h"

namespace batchplus {

/// A measured number, with what is needed to judge it.
struct Quantity {
  using Detail = std::variant<double, int64_t, bool, std::string, std::vector<double>>;

  /// As in the JSON of `measure`: mean_squared_gradient_norm.
  std::string name;
  double value = 0;
  /// Where the value was sampled.
  std::optional<double> standard_error;
  /// samples, draws, error_bound, ...
  std::vector<std::pair<std::string, Detail>> details;
};

/// {name: {value, standard_error, ...}, ...}, as in the JSON of `measure` and in a run's records.
Json to_json(const std::vector<Quantity>& quantities);

}  // namespace batchplus
