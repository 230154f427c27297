#include "datasets/picture_folder.h"

#include <fmt/format.h>

#include <algorithm>

#include "util/error.h"
#include "util/text.h"

namespace batchplus {
namespace fs = std::filesystem;
namespace {

constexpr size_t kTestEvery = 5;

std::vector<fs::path> sorted_entries(const fs::path& folder, bool (*is_wanted)(const fs::directory_entry&)) {
  std::error_code problem;
  std::vector<fs::path> entries;
  for (const auto& entry : fs::directory_iterator(folder, problem)) {
    const bool is_hidden = entry.path().filename().string().starts_with(".");
    if (!is_hidden && is_wanted(entry)) entries.push_back(entry.path());
  }
  if (problem) {
    throw Error("cannot read the folder", {folder.string(), problem.message(), "folder:PATH names a folder"});
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

std::vector<fs::path> class_folders(const fs::path& folder) {
  return sorted_entries(folder, [](const fs::directory_entry& entry) { return entry.is_directory(); });
}

std::vector<fs::path> pictures(const fs::path& folder) {
  auto found = sorted_entries(folder, [](const fs::directory_entry& entry) {
    std::string extension = entry.path().extension().string();
    std::transform(extension.begin(), extension.end(), extension.begin(), ::tolower);
    return !entry.is_directory() && extension == ".png";
  });
  // Left out without a word, they would be missed by nobody.
  for (const fs::path& picture : found) {
    if (fs::is_regular_file(picture)) continue;
    const bool is_link = fs::is_symlink(fs::symlink_status(picture));
    throw Error(
        is_link ? "the link leads to no file" : "not a regular file",
        {picture.string(), is_link ? fs::read_symlink(picture).string() : "", "restore it, or remove it"});
  }
  if (found.empty()) throw Error("no PNG pictures", {folder.string(), "", "each class has at least one"});
  return found;
}

std::vector<std::string> names_of(const std::vector<fs::path>& folders) {
  std::vector<std::string> names;
  for (const auto& folder : folders) names.push_back(folder.filename().string());
  return names;
}

bool has_split(const fs::path& path) {
  return fs::is_directory(path / "train") && fs::is_directory(path / "test");
}

/// Of a folder without a split.
bool is_for_testing(size_t number) {
  return number % kTestEvery == kTestEvery - 1;
}

std::vector<LabelledPicture> pictures_of_classes(const std::vector<fs::path>& folders) {
  std::vector<LabelledPicture> list;
  for (size_t c = 0; c < folders.size(); ++c) {
    for (const fs::path& picture : pictures(folders[c])) list.push_back({picture, static_cast<int64_t>(c)});
  }
  return list;
}

void require_same_classes(const fs::path& test, const std::vector<std::string>& expected) {
  const auto found = names_of(class_folders(test));
  if (found == expected) return;
  throw Error("training and test pictures have different classes",
              {test.string(), join(found, ", "), fmt::format("expected {}", join(expected, ", "))});
}

}  // namespace

std::vector<std::string> picture_classes(const fs::path& path) {
  const auto names = names_of(class_folders(has_split(path) ? path / "train" : path));
  if (names.size() < 2) {
    throw Error(
        "not a folder of pictures by class",
        {path.string(), fmt::format("{} folders in it", names.size()),
         "expected train/CLASS/*.png and test/CLASS/*.png, or CLASS/*.png, with two classes or more"});
  }
  return names;
}

int64_t count_training_pictures(const fs::path& path) {
  const bool is_split = has_split(path);
  int64_t count = 0;
  for (const fs::path& folder : class_folders(is_split ? path / "train" : path)) {
    const size_t found = pictures(folder).size();
    for (size_t i = 0; i < found; ++i) count += is_split || !is_for_testing(i) ? 1 : 0;
  }
  return count;
}

PictureFolder list_pictures(const fs::path& path) {
  PictureFolder folder{.class_names = picture_classes(path), .train = {}, .test = {}};
  if (has_split(path)) {
    require_same_classes(path / "test", folder.class_names);
    folder.train = pictures_of_classes(class_folders(path / "train"));
    folder.test = pictures_of_classes(class_folders(path / "test"));
  } else {
    for (size_t c = 0; c < folder.class_names.size(); ++c) {
      const auto found = pictures(path / folder.class_names[c]);
      for (size_t i = 0; i < found.size(); ++i)
        (is_for_testing(i) ? folder.test : folder.train).push_back({found[i], static_cast<int64_t>(c)});
    }
  }
  if (folder.test.empty() || folder.train.empty()) {
    throw Error("no pictures are left for testing",
                {path.string(), fmt::format("{} pictures", folder.train.size() + folder.test.size()),
                 "give five pictures a class or more, or folders train and test"});
  }
  return folder;
}

}  // namespace batchplus
