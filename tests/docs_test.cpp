// What the documents say about the tree is there.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

const fs::path kRoot = BATCHPLUS_SOURCE_DIR;

std::vector<fs::path> documents() {
  std::vector<fs::path> found = {kRoot / "README.md", kRoot / "CONTRIBUTING.md", kRoot / "src/README.md"};
  for (const auto& entry : fs::directory_iterator(kRoot / "docs")) {
    if (entry.path().extension() == ".md") found.push_back(entry.path());
  }
  return found;
}

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::vector<std::string> matches(const std::string& text, const std::string& pattern) {
  const std::regex expression(pattern);
  return {std::sregex_token_iterator(text.begin(), text.end(), expression, 1), std::sregex_token_iterator()};
}

/// "a.{h,cpp}" means a.h and a.cpp.
std::vector<std::string> spelled_out(const std::string& path) {
  std::smatch parts;
  if (!std::regex_match(path, parts, std::regex(R"((.*)\{(.*)\}(.*))"))) return {path};
  std::vector<std::string> paths;
  std::stringstream alternatives(parts[2].str());
  for (std::string one; std::getline(alternatives, one, ',');)
    paths.push_back(parts[1].str() + one + parts[3].str());
  return paths;
}

bool is_in(const fs::path& folder, const std::string& path) {
  // A pair of files, or a program, may be named without its ending.
  return fs::exists(folder / path) || fs::exists(folder / (path + ".cpp"));
}

TEST(Documents, NameOnlyPathsThatAreThere) {
  std::set<std::string> top;
  for (const char* folder : {"src", "tests", "docs", "specs", "script", "bench", "cmake", "examples", ".ci"})
    top.insert(folder);
  size_t checked = 0;
  for (const fs::path& document : documents()) {
    // Those about the source also name files from there.
    const bool is_about_source =
        document.filename() == "architecture.md" || document.parent_path() == kRoot / "src";
    for (const std::string& named : matches(text_of(document), R"(`([\w.-]+/[\w./{},-]*)[^`\n]*`)")) {
      const std::string folder = named.substr(0, named.find('/'));
      const bool is_source = is_about_source && fs::is_directory(kRoot / "src" / folder);
      if (!top.contains(folder) && !is_source) continue;
      for (const std::string& path : spelled_out(named)) {
        ++checked;
        EXPECT_TRUE(is_in(is_source ? kRoot / "src" : kRoot, path)) << document << " names " << path;
      }
    }
  }
  EXPECT_GT(checked, 50U);
}

TEST(Documents, TheWalksEnterNoStationTwice) {
  const std::string text = text_of(kRoot / "docs/architecture.md");
  const size_t begin = text.find("## Two walks");
  const std::string section = text.substr(begin, text.find("\n## ", begin + 1) - begin);
  const size_t second = section.find("**`batchplus report`**");
  ASSERT_NE(second, std::string::npos);
  for (const std::string& walk : {section.substr(0, second), section.substr(second)}) {
    std::set<std::string> entered;
    for (const std::string& station : matches(walk, R"(`(\w+/\w+(?:\.cpp)?)`)"))
      EXPECT_TRUE(entered.insert(station).second) << station;
    EXPECT_GT(entered.size(), 8U);
    EXPECT_LE(matches(walk, R"((\n\d+\. ))").size(), 12U);
  }
}

TEST(Documents, LinkOnlyToWhatIsThere) {
  for (const fs::path& document : documents()) {
    for (const std::string& link : matches(text_of(document), R"(\]\(([^)#\s]+)[^)]*\))")) {
      if (link.find("://") != std::string::npos) continue;
      EXPECT_TRUE(fs::exists(document.parent_path() / link)) << document << " links to " << link;
    }
  }
}

}  // namespace
