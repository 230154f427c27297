#include "util/clock.h"

#include <gtest/gtest.h>
#include <time.h>

#include <chrono>

#include "support/environment.h"

namespace batchplus {
namespace {

/// Not time(), which may be some milliseconds behind this clock.
time_t now() {
  return std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
}

TEST(UtcTimestamp, IsOfUtcWhateverTheTimeZone) {
  for (const char* zone : {"UTC", "NPT-5:45", "EST5"}) {
    const testing::Environment variable("TZ", zone);
    tzset();
    tm parts = {};
    const time_t before = now();
    ASSERT_NE(strptime(utc_timestamp().c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts), nullptr);
    const time_t said = timegm(&parts);
    EXPECT_GE(said, before) << zone;
    EXPECT_LE(said, now()) << zone;
  }
  tzset();
}

}  // namespace
}  // namespace batchplus
