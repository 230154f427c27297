#pragma once

#include <optional>

#include "util/json.h"

namespace batchplus {

/// Adds to a JSON object, under `checksum`, the SHA-256 of all that it says so far, as compact JSON.
void add_own_checksum(Json& json);

/// Takes that out again: whether it is right, or nothing where there is none.
std::optional<bool> take_own_checksum(Json& json);

}  // namespace batchplus
