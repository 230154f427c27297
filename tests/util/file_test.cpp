#include "util/file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <set>
#include <thread>

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

// Everything that a rename would silently put a file in the place of.
TEST(WriteFileAtomically, LeavesAloneWhatIsNotARegularFile) {
  const Scratch scratch;
  ASSERT_EQ(::mkfifo((scratch / "pipe").c_str(), 0600), 0);
  write_file_atomically(scratch / "target", "precious");
  fs::create_symlink("target", scratch / "link");
  fs::create_symlink("nowhere", scratch / "dangling");
  write_file_atomically(scratch / "fixed", "read-only");
  fs::permissions(scratch / "fixed", fs::perms::owner_read);
  const auto refuse = [](const fs::path& path, const std::string& why) {
    SCOPED_TRACE(path);
    expect_error([&] { write_file_atomically(path, "new"); }, {"cannot write file", path.string(), why});
    expect_error([&] { require_writable_target(path, "--out"); }, {"--out " + path.string(), why});
  };
  refuse(scratch / "pipe", "a pipe");
  refuse("/dev/full", "a device");
  refuse(scratch / "link", "it leads to target");
  refuse(scratch / "dangling", "it leads to nowhere");
  refuse(scratch / "fixed", "read-only");
  EXPECT_TRUE(fs::is_fifo(scratch / "pipe"));
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
  EXPECT_TRUE(fs::is_symlink(scratch / "link"));
  EXPECT_TRUE(fs::is_symlink(scratch / "dangling"));
  EXPECT_EQ(read_file(scratch / "target"), "precious");
  EXPECT_EQ(read_file(scratch / "fixed"), "read-only");
  EXPECT_EQ(entries(scratch.path()), 5) << "nothing else was written";
}

TEST(PendingFile, TakesItsPlaceOnlyWhenCommitted) {
  const Scratch scratch;
  write_file_atomically(scratch / "a", "old");
  { const PendingFile dropped(scratch / "a", "new"); }
  EXPECT_EQ(read_file(scratch / "a"), "old");
  PendingFile file(scratch / "a", "new");
  EXPECT_EQ(read_file(file.path()), "new");
  EXPECT_EQ(read_file(scratch / "a"), "old");
  file.commit();
  EXPECT_EQ(read_file(scratch / "a"), "new");
  EXPECT_EQ(entries(scratch.path()), 1);
}

TEST(RemovePendingFiles, RemovesThoseOfTheFileAndNothingElse) {
  const Scratch scratch;
  const std::set<std::string> others = {"a", "a.tmp.backup", "b.batchplus-tmp.Xy12zZ",
                                        "a.batchplus-tmp.toolong", "a.batchplus-tmp."};
  for (const std::string& name : others) write_file_atomically(scratch / name, "x");
  write_file_atomically(scratch / "a.batchplus-tmp.Xy12zZ", "x");
  fs::create_directory(scratch / "a.batchplus-tmp.folder");
  remove_pending_files(scratch / "a");
  EXPECT_FALSE(fs::exists(scratch / "a.batchplus-tmp.Xy12zZ"));
  for (const std::string& name : others) EXPECT_TRUE(fs::exists(scratch / name)) << name;
  EXPECT_TRUE(fs::exists(scratch / "a.batchplus-tmp.folder"));
  // A file that is being written has such a name.
  const PendingFile pending(scratch / "a", "new");
  remove_pending_files(scratch / "a");
  EXPECT_FALSE(fs::exists(pending.path()));
}

TEST(AppendBytes, FollowsNoLink) {
  const Scratch scratch;
  write_file_atomically(scratch / "outside", "precious");
  fs::create_symlink(scratch / "outside", scratch / "log");
  expect_error([&] { append_bytes(scratch / "log", "more"); },
               {"a symbolic link is there", "log", "it leads to"});
  EXPECT_EQ(read_file(scratch / "outside"), "precious");
}

TEST(AppendBytes, LeavesTheFileAsItWasWhenItCannotBeFinished) {
  const Scratch scratch;
  write_file_atomically(scratch / "log", std::string(1000, 'a'));
  // The limit holds for a child process, so that the rest of the tests keep theirs.
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{1500, 1500};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    ::signal(SIGXFSZ, SIG_IGN);
    try {
      append_bytes(scratch / "log", std::string(1000, 'b'));
    } catch (const Error& problem) {
      ::_exit(problem.exit_code());
    }
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), Error::kFailure);
  EXPECT_EQ(read_file(scratch / "log"), std::string(1000, 'a')) << "not a byte of the 500 that fitted";
}

TEST(ReadFile, NamesTheFileThatIsMissing) {
  const Scratch scratch;
  expect_error([&] { read_file(scratch / "none"); }, {"cannot open", "none", "No such file"});
  expect_error([&] { read_file(scratch.path()); }, {"directory"});
}

// What has no length would be read as empty, and a pipe without a writer not at all.
TEST(ReadFile, TakesRegularFilesAlone) {
  const Scratch scratch;
  ASSERT_EQ(::mkfifo((scratch / "pipe").c_str(), 0600), 0);
  expect_error([&] { read_file(scratch / "pipe"); }, {"not a regular file", "pipe", "a pipe"});
  expect_error([&] { read_file("/dev/zero"); }, {"not a regular file", "a device"});
  expect_error([&] { read_text("/dev/zero"); }, {"not a regular file", "a device"});
}

TEST(ReadText, ReadsAPipeToItsEnd) {
  const Scratch scratch;
  ASSERT_EQ(::mkfifo((scratch / "pipe").c_str(), 0600), 0);
  const std::string text(200'000, 'x');
  std::thread writer([&] { std::ofstream(scratch / "pipe") << text << "end"; });
  EXPECT_EQ(read_text(scratch / "pipe"), text + "end");
  writer.join();
  write_file_atomically(scratch / "file", "plain");
  EXPECT_EQ(read_text(scratch / "file"), "plain");
}

TEST(MakeDirectories, SaysThatALinkLeadsNowhere) {
  const Scratch scratch;
  fs::create_symlink("nowhere", scratch / "link");
  expect_error([&] { make_directories(scratch / "link"); },
               {"a symbolic link is there that leads nowhere", "link", "it leads to nowhere"});
  fs::create_directory(scratch / "nowhere");
  EXPECT_NO_THROW(make_directories(scratch / "link"));
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

TEST(ScratchDirectory, OfAKilledProcessCanBeRemovedAndNothingElse) {
  const Scratch scratch;
  fs::create_directories(scratch / ".scratch.aB3xYz" / "below");
  fs::create_directories(scratch / ".scratch.mine");
  write_file_atomically(scratch / ".scratch.abcdef", "a file");
  ScratchDirectory::remove_leftovers(scratch.path());
  EXPECT_FALSE(fs::exists(scratch / ".scratch.aB3xYz"));
  EXPECT_TRUE(fs::exists(scratch / ".scratch.mine"));
  EXPECT_TRUE(fs::exists(scratch / ".scratch.abcdef"));
}

}  // namespace
}  // namespace batchplus
