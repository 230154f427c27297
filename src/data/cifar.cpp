#include "data/cifar.h"

#include <fmt/format.h>

#include <cstring>

#include "util/error.h"
#include "util/file.h"

namespace batchplus {
namespace fs = std::filesystem;
namespace {

constexpr int64_t kPixelBytes = 3 * 32 * 32;
constexpr int64_t kRecordBytes = 1 + kPixelBytes;

ImageSet read_records(const std::vector<fs::path>& files, int64_t classes) {
  std::vector<std::string> contents;
  int64_t samples = 0;
  for (const auto& file : files) {
    contents.push_back(read_file(file));
    const auto bytes = static_cast<int64_t>(contents.back().size());
    if (bytes == 0 || bytes % kRecordBytes != 0) {
      throw Error(
          "truncated CIFAR file",
          {fmt::format("{}, offset {}", file.string(), bytes / kRecordBytes * kRecordBytes),
           fmt::format("{} bytes", bytes),
           fmt::format("the size must be a multiple of {} bytes; fetch the dataset again", kRecordBytes)});
    }
    samples += bytes / kRecordBytes;
  }

  ImageSet set{torch::empty({samples, 3, 32, 32}, torch::kUInt8), torch::empty({samples}, torch::kInt64)};
  auto* pixels = set.images.data_ptr<uint8_t>();
  auto* labels = set.labels.data_ptr<int64_t>();
  for (size_t f = 0; f < files.size(); ++f) {
    const auto records = static_cast<int64_t>(contents[f].size()) / kRecordBytes;
    const int64_t first = labels - set.labels.data_ptr<int64_t>();
    for (int64_t i = 0; i < records; ++i) {
      const char* record = contents[f].data() + i * kRecordBytes;
      *labels++ = static_cast<uint8_t>(record[0]);
      std::memcpy(pixels, record + 1, kPixelBytes);
      pixels += kPixelBytes;
    }
    validate({set.images.narrow(0, first, records), set.labels.narrow(0, first, records)}, classes,
             files[f].string());
  }
  return set;
}

}  // namespace

const std::vector<std::string>& cifar10_files() {
  static const std::vector<std::string> files = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                                 "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"};
  return files;
}

Dataset load_cifar10(const fs::path& folder) {
  Dataset dataset;
  dataset.name = "cifar10";
  dataset.class_names = {"airplane", "automobile", "bird",  "cat",  "deer",
                         "dog",      "frog",       "horse", "ship", "truck"};
  std::vector<fs::path> files;
  for (const auto& name : cifar10_files()) files.push_back(folder / name);
  dataset.train = read_records({files.begin(), files.end() - 1}, dataset.classes());
  dataset.test = read_records({files.back()}, dataset.classes());
  return dataset;
}

}  // namespace batchplus
