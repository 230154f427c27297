#include "cli/find_spec.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/own_programs.h"
#include "util/error.h"
#include "util/text.h"

namespace batchplus {
namespace fs = std::filesystem;
namespace {

constexpr const char* kExtension = ".toml";

/// Where specs are: beside the build folder of a program that was not installed, or where they were
/// installed.
std::optional<fs::path> spec_folder() {
  const fs::path here = called_program().parent_path();
  const fs::path folder = here / (is_in_build_tree() ? "../specs" : BATCHPLUS_SPECS_FROM_LAUNCHER);
  return fs::is_directory(folder) ? std::optional(folder.lexically_normal()) : std::nullopt;
}

}  // namespace

std::vector<std::string> spec_names() {
  std::vector<std::string> names;
  const auto folder = spec_folder();
  if (!folder) return names;
  for (const auto& entry : fs::recursive_directory_iterator(*folder)) {
    if (!entry.is_regular_file() || entry.path().extension() != kExtension) continue;
    names.push_back(fs::relative(entry.path(), *folder).replace_extension().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<fs::path> find_named_spec(const std::string& name) {
  const std::vector<std::string> names = spec_names();
  if (std::find(names.begin(), names.end(), name) == names.end()) return std::nullopt;
  return *spec_folder() / (name + kExtension);
}

std::string find_spec(const std::string& asked) {
  // A sweep's directory is often called as its spec.
  if (asked.empty() || (fs::exists(asked) && !fs::is_directory(asked))) return asked;
  if (const auto named = find_named_spec(asked)) return named->string();
  if (asked.ends_with(kExtension) || fs::exists(asked)) return asked;
  throw Error(
      "there is no such spec",
      {"spec", asked, fmt::format("name a TOML file, or a spec: {}", suggest_name(asked, spec_names()))});
}

}  // namespace batchplus
