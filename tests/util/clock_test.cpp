#include "util/clock.h"

#include <gtest/gtest.h>
#include <time.h>

#include "support/environment.h"

namespace batchplus {
namespace {

TEST(UtcTimestamp, IsOfUtcWhateverTheTimeZone) {
  for (const char* zone : {"UTC", "NPT-5:45", "EST5"}) {
    const testing::Environment variable("TZ", zone);
    tzset();
    tm parts = {};
    const time_t before = time(nullptr);
    ASSERT_NE(strptime(utc_timestamp().c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts), nullptr);
    const time_t said = timegm(&parts);
    EXPECT_GE(said, before) << zone;
    EXPECT_LE(said, time(nullptr)) << zone;
  }
  tzset();
}

}  // namespace
}  // namespace batchplus
