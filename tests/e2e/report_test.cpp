// Reports of specs and of runs, and the page in a browser.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "config/spec.h"
#include "report/arrange.h"
#include "report/quantities.h"
#include "report/write_report.h"
#include "support/browser.h"
#include "support/finished_run.h"
#include "support/program.h"
#include "support/reports.h"
#include "support/scratch.h"
#include "support/smoke_runs.h"
#include "util/file.h"

namespace batchplus {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::batchplus;
using ::testing::HasSubstr;
using testing::result_of;
using testing::Scratch;
using testing::sweep_and_report;

const fs::path kSpecs = fs::path(BATCHPLUS_SOURCE_DIR) / "specs";

// The page does what a reader expects: hover, toggling, axes, links to runs, without a sideways scroll on a
// phone.
TEST(ReportPage, WorksInABrowser) {
  const Scratch scratch;
  const fs::path out = scratch / "out";
  const json report = sweep_and_report(testing::kSmokeSpec, "", "", testing::smoke_runs(), out);
  testing::check_report_files(report, out);
  EXPECT_EQ(report["cells"].size(), expand(read_spec(testing::kSmokeSpec), "full").size());
  const std::string page = read_file(out / "index.html");
  // A name of SVG's elements, which nobody looks up.
  const std::string svg = "http://www.w3.org/2000/svg";
  for (size_t at = page.find("://"); at != std::string::npos; at = page.find("://", at + 1)) {
    const size_t begin = page.rfind("http", at);
    EXPECT_EQ(page.substr(begin, svg.size()), svg) << "it needs nothing from elsewhere";
  }
  const std::string check = read_file(fs::path(BATCHPLUS_SOURCE_DIR) / "tests/e2e/page_check.js");
  for (const int width : {1366, 500}) {
    const json found = testing::look_at_page(out / "index.html", check, width);
    const auto metrics = std::count_if(reported_quantities().begin(), reported_quantities().end(),
                                       [](const ReportedQuantity& quantity) { return quantity.is_metric; });
    // Two networks by two curves; every metric against two gaps.
    EXPECT_EQ(found["panels"], 4) << found.dump(1);
    EXPECT_EQ(found["scatters"], 2 * metrics) << found.dump(1);
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

/// Whether every band lies inside its plot and every table inside its place; of the first that does not, what
/// it is.
constexpr const char* kNothingIsCut = R"js(
  const found = { bands: 0, cutBands: 0, tables: 0, cutTables: [] };
  for (const band of document.querySelectorAll('#charts .band')) {
    const [, top, , height] = band.parentNode.getAttribute('viewBox').split(' ').map(Number);
    const box = band.getBBox();
    found.bands += 1;
    if (box.y < top || box.y + box.height > top + height) found.cutBands += 1;
  }
  for (const place of document.querySelectorAll('#tables .wide')) {
    found.tables += 1;
    if (place.scrollWidth > place.clientWidth) found.cutTables.push(place.previousElementSibling.textContent);
  }
  const pre = document.createElement('pre');
  pre.id = 'check';
  pre.textContent = JSON.stringify(found);
  document.body.append(pre);
)js";

// A spread that is cut looks smaller than it is, and so does a table.
TEST(ReportPage, CutsNeitherBandsNorTables) {
  const Scratch scratch;
  // Means that hardly move, with a spread of many times that, and as many columns as the paper's tables have.
  for (const std::string method : {"sgd", "nag", "momentum", "b-svrg", "bp-svrg", "sarah"}) {
    for (const int64_t seed : {1, 2, 3}) {
      const double far = 15.0 * static_cast<double>(seed - 2);
      testing::write_run(scratch / "runs" / fmt::format("{}-{}", method, seed),
                         {.method = method, .seed = seed, .test_accuracies = {50 + far, 51 + far, 52 + far}});
    }
  }
  write_report(arrange_runs(find_runs({scratch / "runs"})), scratch / "out", /*has_figures=*/false);
  const json found = testing::look_at_page(scratch / "out" / "index.html", kNothingIsCut, 1200);
  EXPECT_GE(found["bands"], 6);
  EXPECT_EQ(found["cutBands"], 0);
  EXPECT_GE(found["tables"], 3);
  EXPECT_EQ(found["cutTables"], json::array());
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

TEST(Report, AtEqualTrainingLossNeedsRunsThatMeasuredGaps) {
  const Scratch scratch;
  for (const std::string method : {"sgd", "nag"}) {
    for (const std::string metrics : {"gaps", "noise-scale"}) {
      result_of(batchplus({"train",
                           "--dataset",
                           "synthetic",
                           "--model",
                           "mlp",
                           "--train-limit",
                           "256",
                           "--inner-batch",
                           "32",
                           "--epochs",
                           "3",
                           "--method",
                           method,
                           "--lr",
                           "0.02",
                           "--metrics",
                           metrics,
                           "--out",
                           scratch / metrics / method,
                           "--quiet",
                           "--json"}));
    }
  }
  const auto report = [&](const std::string& runs, const std::string& levels) {
    return batchplus({"report", scratch / runs, "--at-loss", levels, "--tables", "loss_gap", "--out",
                      scratch / "out", "--no-figures"});
  };
  // No run ends at a loss of 1e-9.
  const ProcessResult found = report("gaps", "1.5,1e-9");
  EXPECT_EQ(found.exit_code, 0) << found.output;
  EXPECT_THAT(found.output, HasSubstr("Loss gap at equal training loss"));
  EXPECT_THAT(found.output, HasSubstr("Gradient evaluations at equal training loss"));
  EXPECT_THAT(found.output, HasSubstr("Never reached 1e-09: nag seed 1; sgd seed 1."));
  EXPECT_TRUE(fs::exists(scratch / "out" / "tables" / "at_loss_loss_gap.tex"));
  const ProcessResult without = report("noise-scale", "1.5");
  EXPECT_EQ(without.exit_code, 2);
  EXPECT_THAT(without.output, HasSubstr("metrics = \"gaps\""));
  const ProcessResult wrong = report("gaps", "1.5,-1");
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.output, HasSubstr("--at-loss"));
}

TEST(Report, OfASpecWithoutAxes) {
  const Scratch scratch;
  write_file_atomically(
      scratch / "one.toml",
      "title = \"one\"\n[base]\nmodel = \"mlp\"\ntrain_limit = 256\nepochs = 1\nrepeats = 2\n");
  const json report = sweep_and_report(scratch / "one.toml", "", "", scratch / "runs", scratch / "out");
  ASSERT_EQ(report["cells"].size(), 1U);
  EXPECT_EQ(report["cells"][0]["cell"]["method"], "bp-svrg");
  EXPECT_EQ(report["cells"][0]["test_accuracy"]["n"], 2);
}

// sweep.json says what the sweep is: its directory is enough, and what was set by hand need not be repeated.
TEST(Report, OfASweepsDirectoryIsThatOfItsSpec) {
  const Scratch scratch;
  const fs::path spec = scratch / "one.toml";
  write_file_atomically(spec,
                        "title = \"one\"\n[base]\nmodel = \"mlp\"\ntrain_limit = 256\nepochs = 1\n"
                        "[[axis]]\nname = \"method\"\n[[axis.value]]\nlabel = \"SGD\"\nmethod = \"sgd\"\n"
                        "[[axis.value]]\nlabel = \"NAG\"\nmethod = \"nag\"\n");
  const std::string runs = scratch / "runs";
  const ProcessResult swept =
      batchplus({"sweep", spec, "--set", "momentum=0.8", "--set", "repeats=2", "--out", runs, "--quiet"});
  ASSERT_EQ(swept.exit_code, 0) << swept.output;
  const auto report = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "report");
    arguments.insert(arguments.end(), {"--out", scratch / "out", "--no-figures", "--quiet", "--json"});
    return batchplus(arguments);
  };
  const json by_spec = result_of(report({spec, "--runs", runs}));
  ASSERT_EQ(by_spec["cells"].size(), 2U);
  EXPECT_EQ(by_spec["cells"][0]["test_accuracy"]["n"], 2);
  EXPECT_EQ(result_of(report({spec, "--runs", runs, "--set", "momentum=0.8", "--set", "repeats=2"})),
            by_spec);
  const ProcessResult other = report({spec, "--runs", runs, "--set", "momentum=0.7"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.output, HasSubstr("it was run with momentum=0.8 repeats=2"));
  fs::remove(spec);
  EXPECT_EQ(result_of(report({runs})), by_spec);
  fs::remove(scratch / "runs" / "sweep.json");
  EXPECT_EQ(result_of(report({runs}))["cells"].size(), 2U) << "the runs are still there to be compared";
}

// A copied run is no other seed, and a damaged one does not stand in the way of the others.
TEST(Report, CountsACopyOnceAndNamesADamagedRunAsCheckDoes) {
  const Scratch scratch;
  for (const std::string seed : {"1", "2"}) {
    result_of(
        batchplus({"train", "--train-limit", "64", "--test-limit", "50", "--inner-batch", "32", "--epochs",
                   "1", "--seed", seed, "--out", scratch / "runs" / seed, "--quiet", "--json"}));
  }
  fs::copy(scratch / "runs" / "1", scratch / "runs" / "copy", fs::copy_options::recursive);
  const ProcessResult whole = batchplus({"check", scratch / "runs"});
  EXPECT_EQ(whole.exit_code, 0) << whole.output;
  EXPECT_THAT(whole.output, HasSubstr("ok       done         " + (scratch / "runs" / "1").string()));
  append_bytes(scratch / "runs" / "2" / "config.toml", "lr = 0.3\n");
  const ProcessResult damaged = batchplus({"check", scratch / "runs"});
  EXPECT_EQ(damaged.exit_code, 2);
  EXPECT_THAT(damaged.output,
              HasSubstr("damaged  done         " + (scratch / "runs" / "2").string() + ": config.toml"));

  const ProcessResult report = batchplus({"report", scratch / "runs", "--no-figures"});
  EXPECT_EQ(report.exit_code, 0) << report.output;
  EXPECT_THAT(report.output, HasSubstr("counts once"));
  EXPECT_THAT(report.output, HasSubstr("left out, because it is damaged"));
  EXPECT_THAT(report.output, HasSubstr("1 run\n"));
  EXPECT_THAT(read_file(scratch / "runs" / "report" / "index.html"),
              HasSubstr("left out, because it is damaged"));
}

TEST(Report, SaysWhatIsMissing) {
  const Scratch scratch;
  // A run that has not ended is no sweep.
  result_of(batchplus({"train", "--train-limit", "64", "--inner-batch", "32", "--epochs", "1", "--out",
                       scratch / "whole", "--quiet", "--json"}));
  fs::create_directory(scratch / "begun");
  fs::copy(scratch / "whole" / "checkpoint.pt", scratch / "begun" / "checkpoint.pt");
  fs::copy(scratch / "whole" / "config.toml", scratch / "begun" / "config.toml");
  write_file_atomically(scratch / "begun" / "status.json", R"({"format_version": 1, "status": "running"})");
  const ProcessResult begun = batchplus({"report", scratch / "begun"});
  EXPECT_EQ(begun.exit_code, 2);
  EXPECT_THAT(begun.output, HasSubstr("no run has finished"));
  EXPECT_THAT(begun.output, HasSubstr("where: " + (scratch / "begun").string()));
  EXPECT_THAT(begun.output, Not(HasSubstr("sweep")));
  const ProcessResult checked =
      batchplus({"check", scratch / "whole", scratch / "nowhere", scratch / "begun"});
  EXPECT_EQ(checked.exit_code, 2);
  EXPECT_THAT(checked.output, HasSubstr("ok       done         " + (scratch / "whole").string()));
  EXPECT_THAT(checked.output,
              HasSubstr("unknown      " + (scratch / "nowhere").string() + ": not a directory"));
  EXPECT_THAT(checked.output, HasSubstr("running      " + (scratch / "begun").string()));
  const ProcessResult nothing =
      batchplus({"report", (kSpecs / "demo.toml").string(), "--runs", scratch / "none"});
  EXPECT_EQ(nothing.exit_code, 2);
  EXPECT_THAT(nothing.output, HasSubstr("there is no sweep here"));
  const ProcessResult scale =
      batchplus({"report", (kSpecs / "paper/table1.toml").string(), "--scale", "labtop"});
  EXPECT_EQ(scale.exit_code, 2);
  EXPECT_THAT(scale.output, HasSubstr("did you mean 'laptop'?"));
  EXPECT_EQ(batchplus({"report", scratch / "nowhere"}).exit_code, 2);
  for (const std::vector<std::string>& option :
       {std::vector<std::string>{"--set", "foo=bar"}, {"--scale", "nope"}, {"--runs", scratch / "whole"}}) {
    const ProcessResult ignored = batchplus({"report", scratch / "whole", option[0], option[1]});
    EXPECT_EQ(ignored.exit_code, 2) << option[0];
    EXPECT_THAT(ignored.output, HasSubstr("only a spec has such an option\n  where: " + option[0]));
  }
  EXPECT_EQ(batchplus({"report"}).exit_code, 2);
}

}  // namespace
}  // namespace batchplus
