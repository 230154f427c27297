#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "data/load_dataset.h"
#include "data/synthetic.h"
#include "datasets/checksums.h"
#include "datasets/cifar.h"
#include "datasets/find_files.h"
#include "datasets/verify_files.h"
#include "support/environment.h"
#include "support/expect_error.h"
#include "support/image_files.h"
#include "support/scratch.h"
#include "support/tar_file.h"
#include "util/file.h"
#include "util/hash.h"

namespace batchplus {
namespace {

namespace fs = std::filesystem;
using testing::cifar100_records;
using testing::cifar_records;
using testing::expect_error;
using testing::Scratch;
using testing::tar_gz;
using testing::write_cifar10;

TEST(Cifar10, ReadsRecordsInOrder) {
  const Scratch scratch;
  write_cifar10(scratch.path(), 3);
  const Dataset dataset = load_dataset(find_dataset("cifar10"), scratch.path());
  EXPECT_EQ(dataset.name, "cifar10");
  EXPECT_EQ(dataset.train.size(), 15);
  EXPECT_EQ(dataset.test.size(), 3);
  EXPECT_EQ(dataset.classes(), 10);
  EXPECT_TRUE(dataset.train.images.is_contiguous());
  // Record 14 of training: label 4, and pixel (channel 1, row 2, column 3) is byte 1024 + 67.
  EXPECT_EQ(dataset.train.labels[14].item<int64_t>(), 4);
  EXPECT_EQ(dataset.train.images[14][1][2][3].item<int>(), (14 + 1024 + 67) % 251);
  EXPECT_EQ(dataset.test.labels[0].item<int64_t>(), 5);
}

TEST(Cifar10, NamesTheDamagedFile) {
  const Scratch scratch;
  write_cifar10(scratch.path(), 3);
  write_file_atomically(scratch / "data_batch_2.bin", cifar_records(3).substr(0, 2 * 3073 + 100));
  expect_error([&] { load_dataset(find_dataset("cifar10"), scratch.path()); },
               {"truncated", "data_batch_2.bin, offset 6146", "6246 bytes"});
}

TEST(Cifar100, ReadsTheFolderAndTheArchiveAlike) {
  const Scratch folder;
  write_file_atomically(folder / "train.bin", cifar100_records(120));
  write_file_atomically(folder / "test.bin", cifar100_records(7));
  const Scratch archive;
  write_file_atomically(archive / "cifar-100-binary.tar.gz",
                        tar_gz({{"cifar-100-binary/fine_label_names.txt", "apple\n"},
                                {"cifar-100-binary/test.bin", cifar100_records(7)},
                                {"cifar-100-binary/train.bin", cifar100_records(120)}}));
  const DatasetInfo info = find_dataset("cifar100");
  EXPECT_TRUE(locate(info, archive.path())->is_archive);
  const Scratch part;
  fs::copy_file(archive / "cifar-100-binary.tar.gz", part / "cifar-100-binary.tar.gz");
  make_directories(part / "cifar-100-binary");
  write_file_atomically(part / "cifar-100-binary" / "train.bin", cifar100_records(120));
  expect_error([&] { locate(info, part.path()); }, {"cifar100 is not complete", "test.bin is missing"});
  const Dataset a = load_dataset(info, folder.path());
  const Dataset b = load_dataset(info, archive.path());
  EXPECT_EQ(a.train.size(), 120);
  EXPECT_EQ(a.train.labels[119].item<int64_t>(), 19);
  EXPECT_EQ(a.train.labels[99].item<int64_t>(), 99);
  EXPECT_TRUE(a.train.images.equal(b.train.images));
  EXPECT_TRUE(a.test.labels.equal(b.test.labels));
  EXPECT_EQ(a.classes(), 100);
  EXPECT_EQ(a.class_names[0], "apple");
  EXPECT_EQ(a.class_names[99], "worm");
  EXPECT_EQ(verify_files(info, *locate(info, archive.path())), Verification::kLayout);
}

TEST(FashionMnist, IsTheOfficialOneWhereDebianPutsIt) {
  const DatasetInfo info = find_dataset("fashion-mnist");
  const Scratch empty;
  const auto location = locate(info, empty.path());
  ASSERT_TRUE(location) << "script/bootstrap installs dataset-fashion-mnist";
  EXPECT_EQ(verify_files(info, *location), Verification::kOfficial);
  const Dataset dataset = load_dataset(info, empty.path());
  EXPECT_EQ(dataset.train.size(), 60000);
  EXPECT_EQ(dataset.test.size(), 10000);
  EXPECT_TRUE(at::bincount(dataset.train.labels).eq(6000).all().item<bool>());
  const torch::Tensor pixels = dataset.train.images.to(torch::kFloat64) / 255;
  EXPECT_NEAR(pixels.mean().item<double>(), info.normalization.mean[0], 5e-5);  // four digits are given
  EXPECT_NEAR(pixels.std().item<double>(), info.normalization.std[0], 5e-5);
}

TEST(FashionMnist, IsNotTakenFromDebianWhereAPartOfItIsInTheDataDirectory) {
  const DatasetInfo info = find_dataset("fashion-mnist");
  const auto expect_incomplete = [&](const fs::path& directory) {
    expect_error([&] { load_dataset(info, directory); },
                 {"copy of fashion-mnist is not complete", "t10k-labels-idx1-ubyte is missing"});
  };
  const Scratch folder;
  const Scratch beside;
  make_directories(folder / "fashion-mnist");
  for (const std::string name :
       {"train-images-idx3-ubyte", "train-labels-idx1-ubyte.gz", "t10k-images-idx3-ubyte"}) {
    write_file_atomically(folder / "fashion-mnist" / name, "x");
    write_file_atomically(beside / name, "x");
  }
  expect_incomplete(folder.path());
  expect_incomplete(beside.path());
  fs::create_symlink("nowhere", folder / "fashion-mnist" / "t10k-labels-idx1-ubyte");
  expect_incomplete(folder.path());
  const Scratch links;
  for (const std::string& name : info.files) fs::create_symlink("nowhere", links / name);
  expect_error([&] { load_dataset(info, links.path()); }, {"not complete", "train-images-idx3-ubyte"});
}

TEST(FashionMnist, IsNotTakenForMnist) {
  const fs::path installed = find_dataset("fashion-mnist").system_folder;
  expect_error([&] { load_dataset(find_dataset("mnist"), installed); },
               {"that of fashion-mnist, not of mnist", "train-images-idx3-ubyte"});
}

TEST(Synthetic, IsAlwaysTheSameAndHasAllClasses) {
  const Dataset a = make_synthetic();
  const int threads = at::get_num_threads();
  at::set_num_threads(threads == 1 ? 2 : 1);
  const Dataset b = make_synthetic();
  const DatasetInfo info = find_dataset("synthetic");
  EXPECT_EQ(info.train_samples, a.train.size()) << "the table says it without making it";
  EXPECT_EQ(info.test_samples, a.test.size());
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
  EXPECT_FALSE(verify_recorded_checksums(folder));
  Checksums checksums;
  for (const auto& name : cifar10_files()) checksums[name] = sha256_hex(read_file(folder / name));
  write_file_atomically(folder / kChecksumFile, format_checksums(checksums));
  const DatasetInfo info = find_dataset("cifar10");
  EXPECT_EQ(verify_files(info, {folder}), Verification::kAsFetched);
  std::string damaged = read_file(folder / "data_batch_3.bin");
  damaged[100] = static_cast<char>(damaged[100] ^ 1);
  write_file_atomically(folder / "data_batch_3.bin", damaged);
  expect_error([&] { load_dataset(info, scratch.path()); }, {"checksum", "data_batch_3.bin"});
}

TEST(Registry, NamesWhatIsMissingAndHowToGetIt) {
  const Scratch scratch;
  expect_error([&] { load_dataset(find_dataset("cifar10"), scratch.path()); },
               {"cifar10 is not there", "data_batch_1.bin", "batchplus data fetch cifar10"});
  expect_error([] { find_dataset("cifar-10"); }, {"unknown dataset", "did you mean 'cifar10'?"});
  expect_error([&] { data_directory((scratch / "none").string()); }, {"no such data directory", "data_dir"});
  write_cifar10(scratch.path(), 2);
  EXPECT_EQ(locate(find_dataset("cifar10"), scratch.path()), DatasetLocation{scratch.path()});
}

TEST(Registry, PutsNoCacheIntoTheWorkingDirectory) {
  const testing::Environment data("BATCHPLUS_DATA", nullptr);
  const testing::Environment cache("XDG_CACHE_HOME", nullptr);
  const testing::Environment home("HOME", nullptr);
  expect_error([] { data_directory(""); }, {"nothing says where datasets are", "$HOME", "data_dir"});
}

TEST(Registry, MakesTheFolderOfADatasetAbsolute) {
  EXPECT_EQ(absolute_dataset("cifar10"), "cifar10");
  EXPECT_EQ(absolute_dataset("folder:/a/b"), "folder:/a/b");
  EXPECT_EQ(absolute_dataset("folder:x/../y"), "folder:" + (fs::current_path() / "y").string());
}

// Whoever reads a result must know whether it is one on the published data.
TEST(Registry, SaysHowFarADatasetIsKnownToBeRight) {
  EXPECT_EQ(load_dataset(find_dataset("synthetic"), "").verified, "made in memory");
  const Scratch scratch;
  DatasetInfo info = find_dataset("cifar10");
  const fs::path folder = scratch / info.folder;
  write_cifar10(folder, 2);
  EXPECT_EQ(load_dataset(info, scratch.path()).verified, "layout");
  for (const std::string& name : info.files)
    info.sources.checksums[name] = sha256_hex(read_file(folder / name));
  EXPECT_EQ(load_dataset(info, scratch.path()).verified, "official");
  write_file_atomically(folder / kChecksumFile, format_checksums(info.sources.checksums));
  EXPECT_EQ(load_dataset(info, scratch.path()).verified, "official") << "noted and published";
  // A label of one's own.
  std::string records = read_file(folder / "data_batch_1.bin");
  records[0] = 3;
  write_file_atomically(folder / "data_batch_1.bin", records);
  fs::remove(folder / kChecksumFile);
  EXPECT_EQ(load_dataset(info, scratch.path()).verified, "layout");
}

TEST(Registry, RefusesImagesOfAnotherSize) {
  const Scratch scratch;
  const std::string header = testing::big_endian(2) + testing::big_endian(3);
  for (const std::string part : {"train", "t10k"}) {
    write_file_atomically(scratch / (part + "-images-idx3-ubyte"),
                          testing::big_endian(0x803) + testing::big_endian(1) + header + "abcdef");
    write_file_atomically(scratch / (part + "-labels-idx1-ubyte"),
                          testing::big_endian(0x801) + testing::big_endian(1) + "\x05");
  }
  expect_error([&] { load_dataset(find_dataset("mnist"), scratch.path()); },
               {"another size", "1 x 2 x 3", "1 x 28 x 28"});
}

DatasetInfo with_channels(int64_t channels) {
  DatasetInfo dataset = find_dataset("cifar10");
  dataset.channels = channels;
  return dataset;
}

TEST(Normalization, IsParsedAndChecked) {
  const DatasetInfo dataset = with_channels(3);
  EXPECT_EQ(parse_normalization("auto", dataset).std[2], 0.2616);
  EXPECT_EQ(parse_normalization("none", dataset).mean, std::vector<double>(3, 0.0));
  EXPECT_EQ(parse_normalization("imagenet", dataset).mean[0], 0.485);
  EXPECT_EQ(parse_normalization("0.1,0.2,0.3/1,2,3", dataset).std[1], 2);
  for (const char* wrong : {"x", "0.1/0.2", "0.1,0.2,0.3/1,2", "0,0,0/1,1,0", "0,0,0/1,1,-1", "1,2,3"}) {
    expect_error([&] { parse_normalization(wrong, dataset); }, {"normalize"});
  }
  expect_error([] { parse_normalization("imagenet", with_channels(1)); }, {"1 channels"});
}

TEST(Normalization, MeasuredEqualsTheMomentsOfTheFloats) {
  torch::manual_seed(1);
  ImageSet set{torch::randint(0, 256, {20, 3, 8, 8}).to(torch::kUInt8), torch::zeros({20}, torch::kInt64)};
  set.images.select(1, 2).fill_(9);
  const Normalization measured = measure_normalization(set);
  for (int64_t c = 0; c < 2; ++c) {
    const torch::Tensor pixels = set.images.select(1, c).to(torch::kFloat64) / 255;
    EXPECT_NEAR(measured.mean[c], pixels.mean().item<double>(), 1e-12);  // sums of doubles in another order
    EXPECT_NEAR(measured.std[c], pixels.std(/*unbiased=*/false).item<double>(), 1e-12);
  }
  EXPECT_EQ(measured.std[2], 1);  // no contrast: not divided by zero
}

}  // namespace
}  // namespace batchplus
