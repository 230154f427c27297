#include "util/own_checksum.h"

#include <gtest/gtest.h>

#include "util/hash.h"

namespace batchplus {
namespace {

TEST(OwnChecksum, IsThatOfAllElseAndTellsAChange) {
  const Json content = {{"status", "done"}, {"accuracy", 41.5}};
  Json json = content;
  add_own_checksum(json);
  EXPECT_EQ(json["checksum"], sha256_hex(R"({"status":"done","accuracy":41.5})"));

  Json changed = json;
  changed["accuracy"] = 42.5;
  EXPECT_EQ(take_own_checksum(changed), false);
  EXPECT_EQ(take_own_checksum(json), true);
  EXPECT_EQ(json, content);
  EXPECT_EQ(take_own_checksum(json), std::nullopt);
}

}  // namespace
}  // namespace batchplus
