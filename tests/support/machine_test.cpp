#include "support/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include "support/environment.h"

namespace batchplus {
namespace {

using testing::Environment;
using ::testing::HasSubstr;
using testing::machine_has;

/// What a need that is not there makes of a test.
::testing::TestPartResult result_without_npm() {
  ::testing::TestPartResultArray results;
  {
    const ::testing::ScopedFakeTestPartResultReporter reporter(
        ::testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &results);
    machine_has("npm", false);
  }
  EXPECT_EQ(results.size(), 1);
  return results.GetTestPartResult(0);
}

TEST(Machine, MayLackWhatNobodyRequires) {
  const Environment required("BATCHPLUS_REQUIRE", "avx2 samples");
  const auto result = result_without_npm();
  EXPECT_TRUE(result.skipped());
  EXPECT_THAT(result.message(), HasSubstr("npm is not installed"));
}

TEST(Machine, MustHaveWhatIsRequired) {
  const Environment required("BATCHPLUS_REQUIRE", "avx2 npm");
  const auto result = result_without_npm();
  EXPECT_TRUE(result.fatally_failed());
  EXPECT_THAT(result.message(), HasSubstr("BATCHPLUS_REQUIRE names npm"));
  EXPECT_TRUE(machine_has("npm", true));
}

// A misspelt name would require nothing.
TEST(Machine, IsRequiredToHaveWhatSomeTestNeeds) {
  for (const std::string& name : testing::required_of_machine())
    EXPECT_TRUE(testing::machine_needs().contains(name)) << "BATCHPLUS_REQUIRE: " << name;
}

}  // namespace
}  // namespace batchplus
