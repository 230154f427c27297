#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>

#include "data/checksums.h"
#include "data/cifar.h"
#include "data/fetch_cifar10.h"
#include "data/idx.h"
#include "data/registry.h"
#include "data/synthetic.h"
#include "support/expect_error.h"
#include "support/image_files.h"
#include "support/scratch.h"
#include "util/file.h"
#include "util/hash.h"

namespace batchplus {
namespace {

namespace fs = std::filesystem;
using testing::big_endian;
using testing::cifar_records;
using testing::expect_error;
using testing::Scratch;
using testing::write_cifar10;

TEST(Cifar10, ReadsRecordsInOrder) {
  const Scratch scratch;
  write_cifar10(scratch.path(), 3);
  const Dataset dataset = load_cifar10(scratch.path());
  EXPECT_EQ(dataset.train.size(), 15);
  EXPECT_EQ(dataset.test.size(), 3);
  EXPECT_EQ(dataset.classes(), 10);
  // Record 14 of training: label 4, and pixel (channel 1, row 2, column 3) is byte 1024 + 67.
  EXPECT_EQ(dataset.train.labels[14].item<int64_t>(), 4);
  EXPECT_EQ(dataset.train.images[14][1][2][3].item<int>(), (14 + 1024 + 67) % 251);
  EXPECT_EQ(dataset.test.labels[0].item<int64_t>(), 5);
}

TEST(Cifar10, RefusesDamagedFilesAndNamesThePlace) {
  const Scratch scratch;
  write_cifar10(scratch.path(), 3);
  write_file_atomically(scratch / "data_batch_2.bin", cifar_records(3).substr(0, 2 * 3073 + 100));
  expect_error([&] { load_cifar10(scratch.path()); },
               {"truncated", "data_batch_2.bin, offset 6146", "6246 bytes"});
  std::string bad_label = cifar_records(3);
  bad_label[3073] = 17;
  write_file_atomically(scratch / "data_batch_2.bin", bad_label);
  expect_error([&] { load_cifar10(scratch.path()); },
               {"label out of range", "data_batch_2.bin, record 1", "17"});
  write_file_atomically(scratch / "data_batch_2.bin", "");
  expect_error([&] { load_cifar10(scratch.path()); }, {"data_batch_2.bin", "0 bytes"});
}

void write_gzip(const fs::path& path, const std::string& bytes) {
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
}

std::string idx_images(uint32_t count) {
  std::string bytes = big_endian(0x803) + big_endian(count) + big_endian(2) + big_endian(3);
  for (uint32_t i = 0; i < count * 6; ++i) bytes.push_back(static_cast<char>(i));
  return bytes;
}

std::string idx_labels(uint32_t count) {
  std::string bytes = big_endian(0x801) + big_endian(count);
  for (uint32_t i = 0; i < count; ++i) bytes.push_back(static_cast<char>(i % 10));
  return bytes;
}

TEST(Idx, ReadsPlainAndGzippedFilesAlike) {
  const Scratch scratch;
  write_file_atomically(scratch / "images", idx_images(4));
  write_gzip(scratch / "labels.gz", idx_labels(4));
  const ImageSet set = read_idx_pair(scratch / "images", scratch / "labels.gz", 10);
  EXPECT_EQ(set.images.sizes(), (std::vector<int64_t>{4, 1, 2, 3}));
  EXPECT_EQ(set.images[2][0][1][2].item<int>(), 17);
  EXPECT_EQ(set.labels[3].item<int64_t>(), 3);
  EXPECT_EQ(idx_path(scratch.path(), "labels"), scratch / "labels.gz");
}

TEST(Idx, RefusesDamagedFilesAndNamesThePlace) {
  const Scratch scratch;
  write_file_atomically(scratch / "labels", idx_labels(4));
  const auto read = [&](const std::string& images) {
    write_file_atomically(scratch / "images", images);
    read_idx_pair(scratch / "images", scratch / "labels", 10);
  };
  expect_error([&] { read(idx_images(4).substr(0, 30)); }, {"truncated", "images, offset 30"});
  expect_error([&] { read(idx_images(4) + "x"); }, {"longer", "offset 40"});
  expect_error([&] { read(idx_labels(4)); }, {"not an idx file", "0x00000801"});
  expect_error([&] { read(idx_images(3)); }, {"differ in number", "3 images, 4 labels"});
  expect_error(
      [&] { read(big_endian(0x803) + big_endian(0xffffffff) + big_endian(0xffffffff) + big_endian(2)); },
      {"more data than the file can hold"});
  expect_error([&] { read(big_endian(0x803) + big_endian(0) + big_endian(2) + big_endian(2)); },
               {"more data"});
  std::string gzip;
  write_gzip(scratch / "whole.gz", idx_images(4));
  gzip = read_file(scratch / "whole.gz");
  expect_error([&] { read(gzip.substr(0, gzip.size() - 12)); }, {"truncated or corrupted"});
}

TEST(FashionMnist, IsCompleteWhereDebianPutsIt) {
  const DatasetInfo& info = find_dataset("fashion-mnist");
  const Scratch empty;
  const auto folder = locate(info, empty.path());
  ASSERT_TRUE(folder) << "script/bootstrap installs dataset-fashion-mnist";
  const Dataset dataset = load_dataset(info, empty.path());
  EXPECT_EQ(dataset.train.size(), 60000);
  EXPECT_EQ(dataset.test.size(), 10000);
  EXPECT_TRUE(at::bincount(dataset.train.labels).eq(6000).all().item<bool>());
  const torch::Tensor pixels = dataset.train.images.to(torch::kFloat64) / 255;
  EXPECT_NEAR(pixels.mean().item<double>(), info.normalization.mean[0], 5e-5);  // four digits are given
  EXPECT_NEAR(pixels.std().item<double>(), info.normalization.std[0], 5e-5);
}

TEST(Synthetic, IsAlwaysTheSameAndHasAllClasses) {
  const Dataset a = make_synthetic();
  const int threads = at::get_num_threads();
  at::set_num_threads(threads == 1 ? 2 : 1);
  const Dataset b = make_synthetic();
  at::set_num_threads(threads);
  EXPECT_TRUE(a.train.images.equal(b.train.images));
  EXPECT_TRUE(a.test.labels.equal(b.test.labels));
  EXPECT_TRUE(at::bincount(a.test.labels).eq(200).all().item<bool>());
  // A tenth of the training labels is redrawn, and a tenth of those hits the true one.
  torch::Tensor truth = torch::arange(10000) % 10;
  EXPECT_NEAR(a.train.labels.ne(truth).to(torch::kFloat64).mean().item<double>(), 0.09, 0.01);
  EXPECT_FALSE(a.train.images[0].equal(a.test.images[0]));
}

TEST(Checksums, FindAFlippedByteInAFetchedDataset) {
  const Scratch scratch;
  const fs::path folder = scratch / "cifar-10-batches-bin";
  write_cifar10(folder, 2);
  EXPECT_FALSE(verify_checksums(folder));
  Checksums checksums;
  for (const auto& name : cifar10_files()) checksums[name] = sha256_hex(read_file(folder / name));
  write_file_atomically(folder / kChecksumFile, format_checksums(checksums));
  EXPECT_TRUE(verify_checksums(folder));
  std::string damaged = read_file(folder / "data_batch_3.bin");
  damaged[100] = static_cast<char>(damaged[100] ^ 1);
  write_file_atomically(folder / "data_batch_3.bin", damaged);
  expect_error([&] { load_dataset(find_dataset("cifar10"), scratch.path()); },
               {"checksum", "data_batch_3.bin"});
}

TEST(Registry, NamesWhatIsMissingAndHowToGetIt) {
  const Scratch scratch;
  expect_error([&] { load_dataset(find_dataset("cifar10"), scratch.path()); },
               {"cifar10 is not there", "data_batch_1.bin", "batchplus data fetch cifar10"});
  expect_error([] { find_dataset("cifar-10"); }, {"unknown dataset", "did you mean 'cifar10'?"});
  expect_error([&] { data_directory((scratch / "none").string()); },
               {"no such data directory", "--data-dir"});
  write_cifar10(scratch.path(), 2);
  EXPECT_EQ(locate(find_dataset("cifar10"), scratch.path()), scratch.path());
}

TEST(Normalization, IsParsedAndChecked) {
  const DatasetInfo& info = find_dataset("cifar10");
  EXPECT_EQ(parse_normalization("auto", info).std[2], 0.2616);
  EXPECT_EQ(parse_normalization("none", info).mean, std::vector<double>(3, 0.0));
  EXPECT_EQ(parse_normalization("imagenet", info).mean[0], 0.485);
  EXPECT_EQ(parse_normalization("0.1,0.2,0.3/1,2,3", info).std[1], 2);
  for (const char* wrong : {"x", "0.1/0.2", "0.1,0.2,0.3/1,2", "0,0,0/1,1,0", "0,0,0/1,1,-1", "1,2,3"}) {
    expect_error([&] { parse_normalization(wrong, info); }, {"--normalize"});
  }
  expect_error([] { parse_normalization("imagenet", find_dataset("fashion-mnist")); }, {"1 channels"});
}

TEST(FetchCifar10, RefusesAnotherPackageAndLeavesNothingBehind) {
  const Scratch scratch;
  write_file_atomically(scratch / "other.tgz", "not the package");
  expect_error([&] { fetch_cifar10(scratch / "data" / "cifar10", scratch / "other.tgz"); },
               {"not the package", "other.tgz"});
  EXPECT_TRUE(fs::is_empty(scratch / "data"));
  fs::create_directories(scratch / "data" / "cifar10");
  expect_error([&] { fetch_cifar10(scratch / "data" / "cifar10", scratch / "other.tgz"); },
               {"already there"});
}

}  // namespace
}  // namespace batchplus
