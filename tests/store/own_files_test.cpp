#include "store/own_files.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/scratch.h"
#include "util/file.h"

namespace batchplus {
namespace {

using testing::expect_error;
using testing::Scratch;

const OwnFiles kOwn = {
    .kind = "measurement", .json = "m.json", .keys = {"notes"}, .others = {"a.csv", "b.csv"}};
const Json kResult = {{"notes", Json::array()}, {"value", 0.1}};

TEST(OwnFiles, AreReplacedByAnotherResult) {
  const Scratch scratch;
  require_free_for(kOwn, scratch.path());
  write_own_files(kOwn, scratch.path(), kResult, {{"a.csv", "1\n"}, {"b.csv", "2\n"}});
  require_free_for(kOwn, scratch.path());
  write_own_files(kOwn, scratch.path(), kResult, {{"a.csv", "3\n"}});
  EXPECT_EQ(read_file(scratch / "a.csv"), "3\n");
  EXPECT_FALSE(std::filesystem::exists(scratch / "b.csv"));
  const Json written = Json::parse(read_file(scratch / "m.json"));
  for (const auto& [key, value] : kResult.items()) EXPECT_EQ(written[key], value) << key;
  EXPECT_NO_THROW(require_free_for(kOwn, scratch.path()));
}

TEST(OwnFiles, StayWhereTheyWereChanged) {
  const auto expect_refused = [](const std::string& file, const std::string& bytes) {
    const Scratch scratch;
    write_own_files(kOwn, scratch.path(), kResult, {{"a.csv", "1\n"}});
    write_file_atomically(scratch / file, bytes);
    expect_error([&] { require_free_for(kOwn, scratch.path()); }, {"was changed since", file});
  };
  expect_refused("a.csv", "1, and a note of mine\n");
  expect_refused("b.csv", "a table of mine\n");
  expect_refused("m.json", "{\"notes\": [\"mine\"]");
  Scratch scratch;
  write_own_files(kOwn, scratch.path(), kResult, {});
  Json changed = Json::parse(read_file(scratch / "m.json"));
  changed["value"] = 0.2;
  expect_refused("m.json", changed.dump(1));
}

// The directory in the way of the last one stands for a disk that is full by then.
TEST(OwnFiles, AllStayWhenOneCannotBeWritten) {
  const Scratch scratch;
  write_own_files(kOwn, scratch.path(), kResult, {{"a.csv", "1\n"}});
  std::filesystem::create_directory(scratch / "b.csv");
  expect_error(
      [&] {
        write_own_files(kOwn, scratch.path(), kResult, {{"a.csv", "3\n"}, {"b.csv", "4\n"}});
      },
      {"b.csv"});
  EXPECT_EQ(read_file(scratch / "a.csv"), "1\n");
  std::filesystem::remove(scratch / "b.csv");
  EXPECT_NO_THROW(require_free_for(kOwn, scratch.path()));
}

TEST(OwnFiles, FromBeforeThereWereChecksumsAreReplaced) {
  const Scratch scratch;
  write_file_atomically(scratch / "m.json", kResult.dump());
  write_file_atomically(scratch / "a.csv", "1\n");
  EXPECT_NO_THROW(require_free_for(kOwn, scratch.path()));
}

}  // namespace
}  // namespace batchplus
