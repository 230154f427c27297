#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/program.h"
#include "util/file.h"
#include "util/text.h"

namespace batchplus::testing {

/// Runs a spec at a scale ("": its only one) on data of `data_directory` ("": the machine's) and writes its
/// report: what `report --json` prints.
inline nlohmann::json sweep_and_report(const std::filesystem::path& spec, const std::string& scale,
                                       const std::string& data_directory, const std::filesystem::path& runs,
                                       const std::filesystem::path& out) {
  std::vector<std::string> sweep = {"sweep", spec, "--out", runs, "--quiet"};
  std::vector<std::string> report = {"report", spec, "--runs", runs, "--out", out, "--quiet", "--json"};
  if (!data_directory.empty()) sweep = with_options(sweep, {"--data-dir", data_directory});
  if (!scale.empty()) {
    sweep = with_options(sweep, {"--scale", scale});
    report = with_options(report, {"--scale", scale});
  }
  const ProcessResult swept = batchplus(sweep);
  EXPECT_EQ(swept.exit_code, 0) << swept.output;
  return result_of(batchplus(report));
}

/// Fields of a CSV line.
inline std::vector<std::string> fields_of(const std::string& line) {
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
inline void check_report_files(const nlohmann::json& report, const std::filesystem::path& out) {
  EXPECT_GE(report["tables"].size(), 3U);
  size_t tables = 0;
  for (const auto& entry : std::filesystem::directory_iterator(out / "tables")) {
    if (entry.path().extension() != ".csv") continue;
    ++tables;
    const auto lines = split(read_file(entry.path()), '\n');
    ASSERT_GE(lines.size(), 3U) << entry.path();
    const size_t columns = fields_of(lines[0]).size();
    for (size_t i = 1; i + 1 < lines.size(); ++i) EXPECT_EQ(fields_of(lines[i]).size(), columns) << lines[i];
  }
  EXPECT_GE(tables, report["tables"].size());
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

}  // namespace batchplus::testing
