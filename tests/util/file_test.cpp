#include "util/file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "support/expect_error.h"
#include "support/scratch.h"

namespace batchplus {
namespace {

namespace fs = std::filesystem;
using testing::expect_error;
using testing::Scratch;

int64_t entries(const fs::path& directory) {
  return std::distance(fs::directory_iterator(directory), fs::directory_iterator());
}

TEST(WriteFileAtomically, ReplacesTheWholeFileAndLeavesNothingElse) {
  const Scratch scratch;
  write_file_atomically(scratch / "a", "first, longer");
  write_file_atomically(scratch / "a", std::string("sec\0nd", 6));
  EXPECT_EQ(read_file(scratch / "a"), std::string("sec\0nd", 6));
  EXPECT_EQ(entries(scratch.path()), 1);
}

TEST(WriteFileAtomically, KeepsTheOldFileWhenItFails) {
  const Scratch scratch;
  fs::create_directory(scratch / "taken");
  write_file_atomically(scratch / "taken" / "old", "old");
  // A directory cannot be replaced by a file, so the rename fails after everything was written.
  expect_error([&] { write_file_atomically(scratch / "taken", "new"); }, {"cannot write", "taken"});
  EXPECT_EQ(read_file(scratch / "taken" / "old"), "old");
  EXPECT_EQ(entries(scratch.path()), 1);
}

TEST(ReadFile, NamesTheFileThatIsMissing) {
  const Scratch scratch;
  expect_error([&] { read_file(scratch / "none"); }, {"cannot open", "none", "No such file"});
  expect_error([&] { read_file(scratch.path()); }, {"directory"});
}

TEST(AppendLine, AddsLines) {
  const Scratch scratch;
  append_line(scratch / "log", "one");
  append_line(scratch / "log", "two");
  EXPECT_EQ(read_file(scratch / "log"), "one\ntwo\n");
}

TEST(RequireWritableTarget, RefusesBeforeTheWorkBegins) {
  const Scratch scratch;
  EXPECT_NO_THROW(require_writable_target(scratch / "w.pt", "--save-weights"));
  EXPECT_EQ(entries(scratch.path()), 0);
  expect_error([&] { require_writable_target(scratch / "no" / "w.pt", "--save-weights"); },
               {"cannot write", "--save-weights", "w.pt"});
  expect_error([&] { require_writable_target(scratch.path(), "--save-weights"); }, {"is a directory"});
}

TEST(ScratchDirectory, IsRemovedWithItsContents) {
  fs::path path;
  {
    const Scratch scratch;
    path = scratch.path();
    write_file_atomically(scratch / "a", "x");
  }
  EXPECT_FALSE(fs::exists(path));
}

}  // namespace
}  // namespace batchplus
