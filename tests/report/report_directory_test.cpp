#include "report/report_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/arrange.h"
#include "report/write_report.h"
#include "support/expect_error.h"
#include "support/finished_run.h"
#include "support/scratch.h"
#include "util/file.h"
#include "util/hash.h"
#include "util/json.h"

namespace batchplus {
namespace {

namespace fs = std::filesystem;
using testing::expect_error;
using testing::Scratch;

void write(const fs::path& path, const std::string& text) {
  make_directories(path.parent_path());
  write_file_atomically(path, text);
}

/// Two reports, one after the other, into OUT: the first has a table that the second lacks.
struct TwoReports {
  Scratch scratch;
  fs::path out = scratch / "out";
  ReportFiles first = {{"index.html", "1"}, {"tables/a.csv", "1"}, {"tables/old.csv", "1"}};
  ReportFiles second = {{"index.html", "2"}, {"tables/a.csv", "2"}};

  TwoReports() { ReportDirectory(out).replace(first); }
};

TEST(ReportDirectory, ReplacesAndRemovesWhatAnEarlierReportWrote) {
  const TwoReports reports;
  ReportDirectory(reports.out).replace(reports.second);
  EXPECT_EQ(read_file(reports.out / "index.html"), "2");
  EXPECT_EQ(read_file(reports.out / "tables/a.csv"), "2");
  EXPECT_FALSE(fs::exists(reports.out / "tables/old.csv"));
  ReportDirectory(reports.out).replace(reports.first);
  EXPECT_EQ(read_file(reports.out / "tables/old.csv"), "1");
}

TEST(ReportDirectory, LeavesFilesOfSomebodysOwnAlone) {
  const TwoReports reports;
  for (const char* mine : {"figures/photo.svg", "tables/mine.csv", "tables/more/mine.csv", "notes.txt"})
    write(reports.out / mine, "mine");
  write(reports.out / "tables/old.csv", "changed by hand");
  ReportDirectory(reports.out).replace(reports.second);
  for (const char* mine : {"figures/photo.svg", "tables/mine.csv", "tables/more/mine.csv", "notes.txt"})
    EXPECT_EQ(read_file(reports.out / mine), "mine");
  EXPECT_EQ(read_file(reports.out / "tables/old.csv"), "changed by hand");
}

TEST(ReportDirectory, NamesWhatItWouldReplaceAndChangesNothing) {
  const TwoReports reports;
  write(reports.out / "tables/a.csv", "changed by hand");
  write(reports.out / "report.md", "mine");
  ReportFiles files = reports.second;
  files["report.md"] = "2";
  expect_error([&] { ReportDirectory(reports.out).replace(files); },
               {"not as a report wrote them", "report.md, tables/a.csv"});
  EXPECT_EQ(read_file(reports.out / "index.html"), "1");
  EXPECT_EQ(read_file(reports.out / "tables/a.csv"), "changed by hand");
  EXPECT_EQ(read_file(reports.out / "report.md"), "mine");
}

TEST(ReportDirectory, NeitherFollowsNorReplacesLinks) {
  const TwoReports reports;
  fs::rename(reports.out / "tables", reports.scratch / "elsewhere");
  fs::create_symlink(reports.scratch / "elsewhere", reports.out / "tables");
  expect_error([&] { ReportDirectory(reports.out).replace(reports.second); }, {"symbolic link", "elsewhere"});
  ReportDirectory(reports.out).replace({{"index.html", "2"}});
  EXPECT_TRUE(fs::is_symlink(reports.out / "tables"));
  EXPECT_EQ(read_file(reports.scratch / "elsewhere/old.csv"), "1") << "nothing is removed behind a link";
}

TEST(ReportDirectory, AListThatWasTamperedWithLeadsNowhereElse) {
  const TwoReports reports;
  write(reports.scratch / "mine", "1");
  std::string list = read_file(reports.out / "files.json");
  list.replace(list.find("tables/old.csv"), std::string("tables/old.csv").size(), "tables/../../mine");
  write(reports.out / "files.json", list);
  ReportDirectory(reports.out).replace(reports.second);
  EXPECT_EQ(read_file(reports.scratch / "mine"), "1");
}

// It had written its list, which names the files of both, and the page.
TEST(ReportDirectory, GoesOnAfterAReportThatWasCutShort) {
  const TwoReports reports;
  Json list = Json::parse(read_file(reports.out / "files.json"));
  list["files"]["index.html"].push_back(sha256_hex("2"));
  write(reports.out / "files.json", list.dump());
  write(reports.out / "index.html", "2");
  ReportDirectory(reports.out).replace(reports.first);
  EXPECT_EQ(read_file(reports.out / "index.html"), "1");
  EXPECT_EQ(Json::parse(read_file(reports.out / "files.json"))["files"]["index.html"].size(), 1U);
}

TEST(ReportDirectory, IsOfOneProcessAtATime) {
  const TwoReports reports;
  const ReportDirectory first(reports.out);
  expect_error([&] { ReportDirectory second(reports.out); },
               {"another process is writing a report there", "process ", "wait for it"});
}

TEST(Report, WithoutFiguresKeepsEarlierOnesAndSaysSo) {
  const Scratch scratch;
  testing::write_run(scratch / "runs/a", {});
  const auto report = [&](bool has_figures) {
    return write_report(arrange_runs(find_runs({scratch / "runs"})), scratch / "out", has_figures);
  };
  EXPECT_TRUE(report(false).comparison.notes.empty()) << "there are none";
  EXPECT_FALSE(fs::exists(scratch / "out/figures"));
  EXPECT_THAT(read_file(scratch / "out/index.html"), ::testing::Not(::testing::HasSubstr("href=\"figures/")));
  EXPECT_TRUE(report(true).comparison.notes.empty());
  EXPECT_THAT(report(false).comparison.notes,
              ::testing::ElementsAre(::testing::HasSubstr("those of an earlier report")));
  EXPECT_TRUE(fs::exists(scratch / "out/figures/test_accuracy.svg"));
  EXPECT_TRUE(report(true).comparison.notes.empty()) << "and they are still its own to replace";
}

}  // namespace
}  // namespace batchplus
