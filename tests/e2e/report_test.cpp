// Every spec of the repository, run at its smallest scale into a report, and the page in a browser.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "support/program.h"
#include "support/scratch.h"
#include "util/file.h"
#include "util/text.h"

namespace batchplus {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::batchplus;
using ::testing::HasSubstr;
using testing::result_of;
using testing::Scratch;

const fs::path kSpecs = fs::path(BATCHPLUS_SOURCE_DIR) / "specs";

/// CIFAR-10 where it is, else data that needs no download.
const std::vector<std::string>& data_options() {
  static const bool kHasCifar = batchplus({"data", "verify", "cifar10", "--quiet"}).exit_code == 0;
  static const std::vector<std::string> kOptions =
      kHasCifar ? std::vector<std::string>{} : std::vector<std::string>{"--set", "dataset=synthetic"};
  return kOptions;
}

json sweep_and_report(const fs::path& spec, std::vector<std::string> options, const fs::path& runs,
                      const fs::path& out) {
  options.insert(options.begin(), spec.string());
  const auto call = [&](const std::string& command, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {command};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.insert(arguments.end(), more.begin(), more.end());
    return batchplus(arguments);
  };
  const ProcessResult swept = call("sweep", {"--out", runs.string(), "--quiet"});
  EXPECT_EQ(swept.exit_code, 0) << swept.output;
  return result_of(call("report", {"--runs", runs.string(), "--out", out.string(), "--quiet", "--json"}));
}

/// Fields of a CSV line.
std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields(1);
  bool is_quoted = false;
  for (const char c : line) {
    if (c == '"') {
      is_quoted = !is_quoted;
    } else if (c == ',' && !is_quoted) {
      fields.emplace_back();
    } else {
      fields.back().push_back(c);
    }
  }
  return fields;
}

/// Every table has as many fields in each line as in its header, and every figure is a picture.
void check_files(const json& report, const fs::path& out) {
  EXPECT_GE(report["tables"].size(), 3U);
  for (const auto& entry : fs::directory_iterator(out / "tables")) {
    if (entry.path().extension() != ".csv") continue;
    const auto lines = split(read_file(entry.path()), '\n');
    ASSERT_GE(lines.size(), 3U) << entry.path();
    const size_t columns = fields_of(lines[0]).size();
    for (size_t i = 1; i + 1 < lines.size(); ++i) EXPECT_EQ(fields_of(lines[i]).size(), columns) << lines[i];
  }
  EXPECT_FALSE(report["figures"].empty());
  const std::map<std::string, std::string> magic = {{".svg", "<?xml"}, {".png", "\x89PNG"}, {".pdf", "%PDF"}};
  for (const std::string figure : report["figures"]) {
    for (const auto& [ending, start] : magic) {
      const std::string bytes = read_file(out / "figures" / (figure + ending));
      EXPECT_TRUE(bytes.starts_with(start)) << figure << ending;
      EXPECT_GT(bytes.size(), 1000U) << figure << ending;
    }
  }
}

class PaperSpec : public ::testing::TestWithParam<std::string> {};

TEST_P(PaperSpec, RunsAtSmokeScaleIntoAReport) {
  // Figures 2 and 3 are of table 3's runs.
  static const Scratch scratch;
  const bool is_of_table3 = GetParam() == "table3" || GetParam() == "figure2" || GetParam() == "figure3";
  const fs::path runs = scratch / (is_of_table3 ? "table3" : GetParam());
  std::vector<std::string> options = {"--scale", "smoke"};
  options.insert(options.end(), data_options().begin(), data_options().end());
  const fs::path out = scratch / (GetParam() + "-report");
  const json report = sweep_and_report(kSpecs / "paper" / (GetParam() + ".toml"), options, runs, out);
  EXPECT_EQ(report["scale"], "smoke");
  for (const json& cell : report["cells"]) {
    EXPECT_EQ(cell["missing"], 0) << cell.dump();
    EXPECT_TRUE(cell["diverged"] > 0 || cell.contains("test_accuracy")) << cell.dump();
    EXPECT_EQ(cell.contains("published"),
              !GetParam().starts_with("figure1") && !GetParam().starts_with("figure4"))
        << cell.dump();
  }
  check_files(report, out);
  EXPECT_THAT(read_file(out / "index.html"), HasSubstr("<b>Scale smoke</b>: less than the whole"));
}

INSTANTIATE_TEST_SUITE_P(All, PaperSpec,
                         ::testing::Values("table1", "table2", "table3", "table4", "figure1", "figure2",
                                           "figure3", "figure4"),
                         [](const auto& info) { return info.param; });

// The page does what a reader expects: hover, toggling, axes, links to runs, without a sideways scroll on a
// phone.
TEST(ReportPage, WorksInABrowser) {
  const Scratch scratch;
  const fs::path out = scratch / "out";
  const json report = sweep_and_report(kSpecs / "smoke" / "methods.toml", {}, scratch / "runs", out);
  check_files(report, out);
  EXPECT_EQ(report["cells"].size(), 20U);
  std::string page = read_file(out / "index.html");
  EXPECT_EQ(page.find("http://"), page.find("http://www.w3.org/2000/svg"))
      << "it needs nothing from elsewhere";
  const std::string check = read_file(fs::path(BATCHPLUS_SOURCE_DIR) / "tests/e2e/page_check.js");
  page.insert(page.rfind("</body>"), "<script>" + check + "</script>");
  write_file_atomically(out / "checked.html", page);
  for (const char* width : {"1366", "500"}) {
    // What it says of itself on standard error does not belong into the page.
    const ProcessResult browser =
        run_process({"sh", "-c", "exec \"$@\" 2>/dev/null", "sh", "chromium", "--headless", "--no-sandbox",
                     "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
                     "--no-first-run", fmt::format("--window-size={},900", width),
                     fmt::format("--user-data-dir={}", (scratch / "profile").string()), "--dump-dom",
                     fmt::format("file://{}", (out / "checked.html").string())},
                    scratch.path());
    ASSERT_EQ(browser.exit_code, 0) << browser.output;
    const std::string mark = "<pre id=\"check\">";
    const size_t begin = browser.output.find(mark);
    ASSERT_NE(begin, std::string::npos) << "the check did not end";
    const size_t from = begin + mark.size();
    const json found = json::parse(browser.output.substr(from, browser.output.find("</pre>", from) - from));
    // Two networks by two curves; ten metrics against two gaps.
    EXPECT_EQ(found["panels"], 4) << found.dump(1);
    EXPECT_EQ(found["scatters"], 20) << found.dump(1);
    for (const char* claim :
         {"tooltipShown", "guideShown", "tooltipGone", "touchStays", "touchElsewhereCloses", "arrowsMove",
          "seriesHidden", "otherLegendFollows", "seriesBack", "isolated", "runOpen", "noSidewaysScroll"}) {
      EXPECT_EQ(found[claim], true) << claim << " at width " << width;
    }
    EXPECT_THAT(found["tooltipText"].get<std::string>(), HasSubstr("BP-SVRG"));
    EXPECT_EQ(found["xAxisLabel"], "gradient evaluations");
    EXPECT_THAT(found["scatterTooltip"].get<std::string>(), HasSubstr("seed"));
  }
}

TEST(Report, OfRunsWithoutASpec) {
  const Scratch scratch;
  for (const char* method : {"sgd", "nag"}) {
    result_of(
        batchplus({"train", "--dataset", "synthetic", "--model", "mlp", "--train-limit", "256", "--epochs",
                   "2", "--method", method, "--out", scratch / method, "--quiet", "--json"}));
  }
  const ProcessResult report =
      batchplus({"report", scratch / "sgd", scratch / "nag", "--out", scratch / "out"});
  EXPECT_EQ(report.exit_code, 0) << report.output;
  EXPECT_THAT(report.output, HasSubstr("Test accuracy (%) at the end of training"));
  EXPECT_THAT(report.output, HasSubstr("sgd"));
  EXPECT_TRUE(fs::exists(scratch / "out" / "index.html"));
}

TEST(Report, OfASpecWithoutAxes) {
  const Scratch scratch;
  write_file_atomically(
      scratch / "one.toml",
      "title = \"one\"\n[base]\nmodel = \"mlp\"\ntrain_limit = 256\nepochs = 1\nrepeats = 2\n");
  const json report = sweep_and_report(scratch / "one.toml", {}, scratch / "runs", scratch / "out");
  ASSERT_EQ(report["cells"].size(), 1U);
  EXPECT_EQ(report["cells"][0]["cell"]["method"], "bp-svrg");
  EXPECT_EQ(report["cells"][0]["test_accuracy"]["n"], 2);
}

TEST(Report, SaysWhatIsMissing) {
  const Scratch scratch;
  const ProcessResult nothing =
      batchplus({"report", (kSpecs / "demo.toml").string(), "--runs", scratch / "none"});
  EXPECT_EQ(nothing.exit_code, 2);
  EXPECT_THAT(nothing.output, HasSubstr("no run has finished"));
  const ProcessResult scale =
      batchplus({"report", (kSpecs / "paper/table1.toml").string(), "--scale", "labtop"});
  EXPECT_EQ(scale.exit_code, 2);
  EXPECT_THAT(scale.output, HasSubstr("did you mean 'laptop'?"));
  EXPECT_EQ(batchplus({"report", scratch / "nowhere"}).exit_code, 2);
  EXPECT_EQ(batchplus({"report"}).exit_code, 2);
}

}  // namespace
}  // namespace batchplus
