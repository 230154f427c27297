#include <gtest/gtest.h>

#include "metrics/registry.h"
#include "report/quantities.h"

namespace batchplus {
namespace {

// What is measured and what a report can show are two tables in two folders: the one has torch, the other
// not.
TEST(Quantities, EverythingThatIsMeasuredHasARowInReports) {
  int64_t count = 0;
  for (const MetricGroup& group : metric_groups()) {
    for (const std::string& name : group.quantities) {
      EXPECT_EQ(find_quantity(name, "test").name, name);
      ++count;
    }
  }
  EXPECT_GT(count, 10);
}

}  // namespace
}  // namespace batchplus
