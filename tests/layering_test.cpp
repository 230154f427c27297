#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>

namespace {

namespace fs = std::filesystem;

/// A row of the table of folders in docs/architecture.md.
struct Folder {
  /// What it includes from besides itself.
  std::set<std::string> uses;
  bool is_without_torch = false;
};

std::set<std::string> split_list(const std::string& text) {
  const std::regex word("[a-z]+");
  return {std::sregex_token_iterator(text.begin(), text.end(), word), std::sregex_token_iterator()};
}

std::map<std::string, Folder> documented_folders() {
  const std::regex row_pattern(R"(^\| `src/(\w+)` \| (.*) \| ?([a-z, ]*)\|$)");
  std::map<std::string, Folder> folders;
  std::ifstream file(fs::path(BATCHPLUS_SOURCE_DIR) / "docs" / "architecture.md");
  for (std::string line; std::getline(file, line);) {
    std::smatch row;
    if (!std::regex_match(line, row, row_pattern)) continue;
    folders[row[1]] = {split_list(row[3]), row[2].str().find("no torch") != std::string::npos};
  }
  return folders;
}

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

TEST(Layering, FoldersIncludeWhatTheirDocumentedRowNamesAndNoMore) {
  const auto includes = all_includes();
  ASSERT_GT(includes.size(), 100U);
  const auto folders = documented_folders();
  std::map<std::string, std::set<std::string>> used;
  for (const auto& include : includes) {
    if (!include.is_own) continue;
    const std::string target = include.header.substr(0, include.header.find('/'));
    if (target == include.folder) continue;
    used[include.folder].insert(target);
    ASSERT_TRUE(folders.contains(include.folder)) << include.file << " is in a folder without a row";
    EXPECT_TRUE(folders.at(include.folder).uses.contains(target))
        << include.file << " includes \"" << include.header << "\": " << include.folder << " must not use "
        << target;
  }
  for (const auto& [name, folder] : folders) EXPECT_EQ(used[name], folder.uses) << name;
}

TEST(Layering, NoFolderUsesOneThatUsesIt) {
  const auto folders = documented_folders();
  std::set<std::string> below;
  // From the bottom up: one folder at a time whose uses are all below it.
  for (size_t i = 0; i < folders.size(); ++i) {
    for (const auto& [name, folder] : folders) {
      if (std::includes(below.begin(), below.end(), folder.uses.begin(), folder.uses.end()))
        below.insert(name);
    }
  }
  for (const auto& [name, folder] : folders) EXPECT_TRUE(below.contains(name)) << name << " is in a circle";
}

TEST(Layering, FoldersWithoutTorchIncludeNoneOfIt) {
  const std::regex torch_header("^(torch|ATen|c10|caffe2)/");
  const auto folders = documented_folders();
  size_t without_torch = 0;
  for (const auto& include : all_includes()) {
    if (!folders.at(include.folder).is_without_torch) continue;
    ++without_torch;
    EXPECT_FALSE(std::regex_search(include.header, torch_header))
        << include.file << " includes " << include.header;
  }
  EXPECT_GT(without_torch, 0U);
}

TEST(Layering, TheDocumentedFoldersAreThoseOfSrc) {
  std::set<std::string> documented;
  for (const auto& [name, folder] : documented_folders()) documented.insert(name);
  std::set<std::string> present;
  for (const auto& entry : fs::directory_iterator(fs::path(BATCHPLUS_SOURCE_DIR) / "src")) {
    if (entry.is_directory()) present.insert(entry.path().filename().string());
  }
  EXPECT_EQ(documented, present);
}

}  // namespace
