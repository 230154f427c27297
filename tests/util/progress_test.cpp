#include "util/progress.h"

#include <gtest/gtest.h>

namespace batchplus {
namespace {

TEST(ProgressText, HasBarPercentRateAndEta) {
  EXPECT_EQ(progress_text(500, 2000, 10, "samples"),
            "[######..................]  25%  50 samples/s  ETA 30s");
}

TEST(ProgressText, RateAndEtaAreThoseOfThisProcess) {
  EXPECT_EQ(progress_text(1500, 2000, 10, "samples", 1000),
            "[##################......]  75%  50 samples/s  ETA 10s");
}

TEST(ProgressText, SurvivesTheFirstAndTheLastMoment) {
  EXPECT_EQ(progress_text(0, 100, 0, "samples"), "[........................]   0%  0 samples/s  ETA ?");
  EXPECT_EQ(progress_text(120, 100, 10, "samples"),
            "[########################] 100%  12 samples/s  ETA 0.0s");
  EXPECT_EQ(progress_text(0, 0, 1, "samples"), "[........................]   0%  0 samples/s  ETA ?");
}

}  // namespace
}  // namespace batchplus
