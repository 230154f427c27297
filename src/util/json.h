#pragma once

#include <cmath>
#include <nlohmann/json.hpp>

namespace batchplus {

/// Keys stay in the order in which they are written.
using Json = nlohmann::ordered_json;

/// JSON has no infinity and no NaN.
inline Json number_or_null(double number) {
  return std::isfinite(number) ? Json(number) : Json(nullptr);
}

}  // namespace batchplus
