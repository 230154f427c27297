#include "formats/archive.h"

#include <gtest/gtest.h>

#include <cstring>

#include "support/expect_error.h"
#include "support/scratch.h"
#include "support/tar_file.h"

namespace batchplus {
namespace {

using testing::expect_error;
using testing::tar_gz;
using testing::TarEntry;

TEST(Tar, FindsTheWantedFilesWhateverTheirFolder) {
  const std::string bytes =
      tar_gz({{"folder/a.bin", "first"}, {"other.txt", "ignored"}, {"b.bin", "second"}});
  const ArchiveFiles files = read_tar(bytes, {"a.bin", "b.bin"}, "x.tar.gz");
  EXPECT_EQ(files, (ArchiveFiles{{"a.bin", "first"}, {"b.bin", "second"}}));
}

TEST(Tar, SaysWhichFileIsMissing) {
  expect_error(
      [] {
        read_tar(tar_gz({{"a.bin", "first"}}), {"a.bin", "b.bin"}, "x.tar.gz");
      },
      {"does not hold the file", "x.tar.gz", "b.bin"});
}

// A link named as a wanted file must not stand for one.
TEST(Tar, IgnoresLinks) {
  expect_error(
      [] {
        read_tar(tar_gz({{"a.bin", "/etc/passwd", TarEntry::Kind::kSymlink}}), {"a.bin"}, "x");
      },
      {"does not hold the file"});
}

TEST(Tar, RefusesTruncationAndDamage) {
  std::string content;
  for (int i = 0; i < 20000; ++i) content.push_back(static_cast<char>(i * i % 253));
  const std::string whole = tar_gz({{"a.bin", content}});
  for (const double share : {0.1, 0.5, 0.9}) {
    const auto size = static_cast<size_t>(share * static_cast<double>(whole.size()));
    expect_error([&] { read_tar(whole.substr(0, size), {"a.bin"}, "x.tar.gz"); }, {"x.tar.gz"});
  }
  expect_error([&] { read_tar("no archive at all", {"a.bin"}, "x.tar.gz"); },
               {"cannot read the archive", "offset"});
  expect_error([&] { read_tar("", {"a.bin"}, "x.tar.gz"); }, {"x.tar.gz"});
}

}  // namespace
}  // namespace batchplus
