#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
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

const fs::path kSource = fs::path(BATCHPLUS_SOURCE_DIR) / "src";

std::vector<fs::path> source_files() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(kSource)) {
    const auto extension = entry.path().extension();
    if (extension == ".h" || extension == ".cpp") files.push_back(entry.path());
  }
  return files;
}

std::string folder_of(const fs::path& file) {
  return fs::relative(file, kSource).begin()->string();
}

std::vector<Include> all_includes() {
  const std::regex line_pattern(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
  std::vector<Include> includes;
  for (const fs::path& path : source_files()) {
    std::ifstream file(path);
    std::string line;
    while (std::getline(file, line)) {
      std::smatch match;
      if (!std::regex_search(line, match, line_pattern)) continue;
      includes.push_back({path, folder_of(path), match[2], match[1] == "\""});
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

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(Layering, EveryTargetUsesWhatItsDocumentedRowNames) {
  const std::regex list("USES ([a-z\\s]+)");
  for (const auto& [name, folder] : documented_folders()) {
    // The programs take the others from those that they link.
    if (name == "cli" || name == "commands") continue;
    const std::string cmake = text_of(kSource / name / "CMakeLists.txt");
    std::smatch uses;
    const std::string named = std::regex_search(cmake, uses, list) ? uses[1].str() : "";
    EXPECT_EQ(split_list(named), folder.uses) << name;
  }
}

using Graph = std::map<std::string, std::set<std::string>>;

/// With what each reaches by any way.
Graph reachable(Graph graph) {
  for (const auto& [between, ignored] : graph) {
    for (auto& [from, targets] : graph) {
      if (targets.contains(between)) targets.insert(graph[between].begin(), graph[between].end());
    }
  }
  return graph;
}

// `core` and `util`, which nearly all use, are left out of the drawing.
TEST(Layering, TheDrawnGraphReachesWhatTheTableReaches) {
  Graph table;
  for (const auto& [name, folder] : documented_folders()) {
    if (name == "core" || name == "util") continue;
    table[name] = folder.uses;
    for (const char* below : {"core", "util"}) table[name].erase(below);
  }
  const std::string document = text_of(fs::path(BATCHPLUS_SOURCE_DIR) / "docs" / "architecture.md");
  const size_t begin = document.find("graph TD\n");
  ASSERT_NE(begin, std::string::npos);
  std::istringstream lines(document.substr(begin, document.find("```", begin) - begin));
  Graph drawn;
  for (const auto& [name, ignored] : table) drawn[name];
  size_t arrows = 0;
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    const std::regex word("[a-z]+");
    std::string before;
    for (std::sregex_iterator at(line.begin(), line.end(), word), end; at != end; ++at) {
      if (!before.empty()) arrows += drawn[before].insert(at->str()).second ? 1 : 0;
      before = at->str();
    }
  }
  EXPECT_EQ(reachable(drawn), reachable(table));
  for (const auto& [from, targets] : drawn) {
    for (const std::string& to : targets) {
      Graph without = drawn;
      without[from].erase(to);
      EXPECT_NE(reachable(without), reachable(drawn)) << from << " --> " << to << " follows from others";
    }
  }
  EXPECT_GT(arrows, 10U);
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

// Libraries name keys, and the command line turns them into options.
TEST(Layering, OnlyTheCommandLineNamesOptions) {
  const std::regex literal(R"("(?:[^"\\]|\\.)*")");
  const std::regex option("--[a-z][a-z-]*");
  // Of npm, sbatch and squeue.
  const std::set<std::string> of_others = {"--silent", "--account",  "--array",    "--format",
                                           "--jobs",   "--noheader", "--parsable", "--requeue"};
  for (const fs::path& path : source_files()) {
    if (folder_of(path) == "cli" || folder_of(path) == "commands") continue;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      for (std::sregex_iterator text(line.begin(), line.end(), literal), end; text != end; ++text) {
        const std::string words = text->str();
        for (std::sregex_iterator word(words.begin(), words.end(), option); word != end; ++word)
          EXPECT_TRUE(of_others.contains(word->str())) << path << " says " << words;
      }
    }
  }
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
