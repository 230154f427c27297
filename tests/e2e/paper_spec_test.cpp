// Every spec of the paper, run at its smallest scale into a report.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "support/paper_data.h"
#include "support/program.h"
#include "support/reports.h"
#include "support/scratch.h"

namespace batchplus {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::batchplus;
using ::testing::HasSubstr;
using testing::PaperData;
using testing::result_of;
using testing::Scratch;

fs::path paper_spec(const std::string& name) {
  return fs::path(BATCHPLUS_SOURCE_DIR) / "specs/paper" / (name + ".toml");
}

class PaperSpec : public ::testing::TestWithParam<std::string> {};

TEST_P(PaperSpec, RunsAtSmokeScaleIntoAReport) {
  static const PaperData data;
  // Figures 2 and 3 are of table 3's runs.
  static const Scratch scratch;
  const bool is_of_table3 = GetParam() == "table3" || GetParam() == "figure2" || GetParam() == "figure3";
  const fs::path runs = scratch / (is_of_table3 ? "table3" : GetParam());
  const fs::path out = scratch / (GetParam() + "-report");
  const json report = testing::sweep_and_report(paper_spec(GetParam()), "smoke", data.path(), runs, out);
  EXPECT_EQ(report["scale"], "smoke");
  for (const json& cell : report["cells"]) {
    EXPECT_EQ(cell["missing"], 0) << cell.dump();
    EXPECT_TRUE(cell.contains("test_accuracy")) << "every run diverged: " << cell.dump();
    EXPECT_EQ(cell.contains("published"),
              !GetParam().starts_with("figure1") && !GetParam().starts_with("figure4"))
        << cell.dump();
  }
  testing::check_report_files(report, out);
  EXPECT_THAT(read_file(out / "index.html"), HasSubstr("<b>Scale smoke</b>: less than the whole"));
}

INSTANTIATE_TEST_SUITE_P(All, PaperSpec,
                         ::testing::Values("table1", "table2", "table3", "table4", "figure1", "figure2",
                                           "figure3", "figure4"),
                         [](const auto& info) { return info.param; });

TEST(PaperSpecs, SmokeScaleOfTable3HasEveryNetworkDatasetAndMethod) {
  const auto labels = [](const std::string& scale) {
    std::set<std::pair<std::string, std::string>> all;
    const json plan = result_of(batchplus(
        {"sweep", paper_spec("table3"), "--scale", scale, "--dry-run", "--no-calibration", "--json"}));
    for (const json& run : plan["runs"]) {
      for (const auto& [axis, label] : run["cell"].items()) all.emplace(axis, label);
    }
    return all;
  };
  EXPECT_EQ(labels("smoke"), labels("paper"));
  EXPECT_EQ(labels("paper").size(), 3U + 7U + 3U);
}

}  // namespace
}  // namespace batchplus
