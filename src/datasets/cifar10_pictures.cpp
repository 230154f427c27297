#include "datasets/cifar10_pictures.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "datasets/cifar.h"
#include "formats/png_image.h"
#include "util/error.h"

namespace batchplus {
namespace {

constexpr int64_t kSamplesPerFile = 10000;
constexpr int64_t kImagePixels = 32 * 32;
constexpr const char* kTrainLabels = "train_lables.json";
constexpr const char* kTestLabels = "test_lables.json";

/// data_batch_1.bin comes from data_batch_1.png.
std::string picture_of(const std::string& file) {
  return std::filesystem::path(file).replace_extension(".png").string();
}

/// Label byte, then the planes R, G, B, for each row of the picture.
std::string to_records(const RgbImage& picture, const nlohmann::json& labels, int64_t first_label) {
  std::string records;
  records.reserve(kSamplesPerFile * (1 + 3 * kImagePixels));
  for (int64_t i = 0; i < kSamplesPerFile; ++i) {
    records.push_back(static_cast<char>(labels.at(first_label + i).get<int>()));
    const uint8_t* row = picture.pixels.data() + i * kImagePixels * 3;
    for (int64_t channel = 0; channel < 3; ++channel) {
      for (int64_t p = 0; p < kImagePixels; ++p) records.push_back(static_cast<char>(row[p * 3 + channel]));
    }
  }
  return records;
}

}  // namespace

ArchiveFiles cifar10_from_pictures(const std::string& tgz, const std::string& where) {
  std::set<std::string> wanted = {kTrainLabels, kTestLabels};
  for (const auto& file : cifar10_files()) wanted.insert(picture_of(file));
  const ArchiveFiles package = read_tar(tgz, wanted, where);
  const auto train_labels = nlohmann::json::parse(package.at(kTrainLabels));
  const auto test_labels = nlohmann::json::parse(package.at(kTestLabels));

  ArchiveFiles files;
  for (size_t f = 0; f < cifar10_files().size(); ++f) {
    const std::string& file = cifar10_files()[f];
    const bool is_test = f + 1 == cifar10_files().size();
    const RgbImage picture = decode_png(package.at(picture_of(file)), where + ", " + picture_of(file));
    if (picture.width != kImagePixels || picture.height != kSamplesPerFile) {
      throw Error("picture of an unexpected size",
                  {where + ", " + picture_of(file), fmt::format("{} x {}", picture.width, picture.height),
                   fmt::format("expected {} x {}", kImagePixels, kSamplesPerFile)});
    }
    files[file] = to_records(picture, is_test ? test_labels : train_labels,
                             is_test ? 0 : static_cast<int64_t>(f) * kSamplesPerFile);
  }
  return files;
}

}  // namespace batchplus
