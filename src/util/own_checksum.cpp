#include "util/own_checksum.h"

#include "util/hash.h"

namespace batchplus {
namespace {

constexpr const char* kKey = "checksum";

}  // namespace

void add_own_checksum(Json& json) {
  json[kKey] = sha256_hex(json.dump());
}

std::optional<bool> take_own_checksum(Json& json) {
  if (!json.is_object() || !json.contains(kKey)) return std::nullopt;
  const Json claimed = json[kKey];
  json.erase(kKey);
  return claimed == sha256_hex(json.dump());
}

}  // namespace batchplus
