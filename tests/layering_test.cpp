#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>

namespace {

namespace fs = std::filesystem;

/// Folder -> folders that it may include from besides itself. docs/architecture.md draws the same picture.
const std::map<std::string, std::set<std::string>> kAllowed = {
    {"util", {}},
    {"formats", {"util"}},
    {"store", {"util"}},
    {"report", {"store", "formats", "util"}},
    {"core", {"util"}},
    {"kernels", {"util"}},
    {"data", {"core", "formats", "util"}},
    {"networks", {"kernels", "core", "formats", "util"}},
    {"objective", {"networks", "data", "core", "util"}},
    {"methods", {"objective", "data", "core", "util"}},
    {"metrics", {"objective", "networks", "data", "core", "util"}},
    {"train", {"metrics", "methods", "objective", "networks", "data", "core", "store", "formats", "util"}},
    {"experiment",
     {"train", "metrics", "methods", "objective", "networks", "data", "core", "store", "formats", "util"}},
    {"cli",
     {"experiment", "report", "metrics", "methods", "objective", "networks", "data", "core", "store",
      "util"}},
};

/// Folders that build without libtorch.
const std::set<std::string> kWithoutTorch = {"util", "formats", "store", "report"};

struct Include {
  fs::path file;
  std::string folder;
  std::string header;
  bool is_own;
};

std::vector<Include> all_includes() {
  const std::regex line_pattern(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
  std::vector<Include> includes;
  const fs::path source = fs::path(BATCHPLUS_SOURCE_DIR) / "src";
  for (const auto& entry : fs::recursive_directory_iterator(source)) {
    const auto extension = entry.path().extension();
    if (extension != ".h" && extension != ".cpp") continue;
    std::ifstream file(entry.path());
    std::string line;
    while (std::getline(file, line)) {
      std::smatch match;
      if (!std::regex_search(line, match, line_pattern)) continue;
      const std::string folder = fs::relative(entry.path(), source).begin()->string();
      includes.push_back({entry.path(), folder, match[2], match[1] == "\""});
    }
  }
  return includes;
}

TEST(Layering, EveryIncludePointsDownwards) {
  const auto includes = all_includes();
  ASSERT_GT(includes.size(), 100U);
  for (const auto& include : includes) {
    if (!include.is_own) continue;
    const std::string target = include.header.substr(0, include.header.find('/'));
    ASSERT_TRUE(kAllowed.contains(include.folder)) << include.file << " is in a folder without a layer";
    EXPECT_TRUE(target == include.folder || kAllowed.at(include.folder).contains(target))
        << include.file << " includes \"" << include.header << "\": " << include.folder << " must not use "
        << target;
  }
}

TEST(Layering, FoldersWithoutTorchIncludeNoneOfIt) {
  const std::regex torch_header("^(torch|ATen|c10|caffe2)/");
  for (const auto& include : all_includes()) {
    if (!kWithoutTorch.contains(include.folder)) continue;
    EXPECT_FALSE(std::regex_search(include.header, torch_header))
        << include.file << " includes " << include.header;
  }
}

TEST(Layering, EveryFolderOfSrcHasALayer) {
  for (const auto& entry : fs::directory_iterator(fs::path(BATCHPLUS_SOURCE_DIR) / "src")) {
    if (!entry.is_directory()) continue;
    EXPECT_TRUE(kAllowed.contains(entry.path().filename().string())) << entry.path();
  }
}

}  // namespace
