// Where the program reads and writes: what a path means does not depend on the directory that it is run from.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "formats/png_image.h"
#include "support/program.h"
#include "support/scratch.h"
#include "util/file.h"

namespace batchplus {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::result_of;
using testing::Scratch;

/// The program, run from `directory`.
ProcessResult batchplus_in(const fs::path& directory, const std::vector<std::string>& arguments) {
  return run_process(testing::program(arguments), directory);
}

/// Two classes of pictures, dark and bright ones.
void write_pictures(const fs::path& folder) {
  constexpr int64_t side = 32;
  for (const std::string part : {"train", "test"}) {
    for (const bool is_bright : {false, true}) {
      for (int i = 0; i < 8; ++i) {
        const auto value = static_cast<uint8_t>((is_bright ? 180 : 40) + i);
        const fs::path path = folder / part / (is_bright ? "bright" : "dark") / fmt::format("{}.png", i);
        make_directories(path.parent_path());
        write_file_atomically(
            path,
            encode_png({side, side, std::vector<uint8_t>(static_cast<size_t>(3 * side * side), value)}));
      }
    }
  }
}

TEST(Places, ARunOnARelativeFolderGoesOnFromAnotherDirectory) {
  const Scratch scratch;
  write_pictures(scratch / "here" / "pictures");
  const std::vector<std::string> train = {
      "train",     "--dataset", "folder:pictures", "--inner-batch", "4", "--epochs", "2", "--out", "run",
      "--threads", "1",         "--quiet",         "--json"};
  const auto first = result_of(batchplus_in(scratch / "here", train));
  make_directories(scratch / "there");
  const auto extended =
      result_of(batchplus_in(scratch / "there", {"train", "--resume", "--extend", "3", "--out",
                                                 (scratch / "here" / "run").string(), "--quiet", "--json"}));
  EXPECT_EQ(first["epochs"], 2);
  EXPECT_EQ(extended["epochs"], 3);
  EXPECT_TRUE(fs::is_empty(scratch / "there"));
}

TEST(Places, AReportOfSeveralRunsReplacesNothingUnasked) {
  const Scratch scratch;
  for (const std::string seed : {"1", "2"}) {
    result_of(batchplus_in(scratch.path(), {"train", "--train-limit", "256", "--epochs", "1", "--seed", seed,
                                            "--out", seed, "--quiet", "--json"}));
  }
  make_directories(scratch / "report");
  write_file_atomically(scratch / "report" / "mine.txt", "notes");
  const ProcessResult refused = batchplus_in(scratch.path(), {"report", "1", "2"});
  EXPECT_EQ(refused.exit_code, 2) << refused.output;
  EXPECT_THAT(refused.output, HasSubstr("would replace what is here"));
  EXPECT_EQ(read_file(scratch / "report" / "mine.txt"), "notes");
  EXPECT_FALSE(fs::exists(scratch / "report" / "index.html"));

  EXPECT_EQ(batchplus_in(scratch.path(), {"report", "1", "2", "--out", "other"}).exit_code, 0);
  EXPECT_TRUE(fs::exists(scratch / "other" / "index.html"));
}

TEST(Places, APictureOfSamplesReplacesItsOwnKindAlone) {
  const Scratch scratch;
  write_pictures(scratch / "pictures");
  const auto show = [&](const std::string& out) {
    return batchplus_in(scratch.path(), {"data", "show", "folder:pictures", "--out", out, "--quiet"});
  };
  EXPECT_EQ(show("grid.png").exit_code, 0);
  EXPECT_EQ(show("grid.png").exit_code, 0) << "drawn again";
  const std::string own = read_file(scratch / "pictures/train/dark/0.png");
  const ProcessResult refused = show("pictures/train/dark/0.png");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.output, HasSubstr("no picture of samples"));
  EXPECT_EQ(read_file(scratch / "pictures/train/dark/0.png"), own);
}

TEST(Places, APartOfADatasetIsNotMadeGoodByAnotherCopy) {
  const Scratch scratch;
  write_file_atomically(scratch / "train-images-idx3-ubyte", "x");
  const ProcessResult train = batchplus_in(
      scratch.path(), {"train", "--dataset", "fashion-mnist", "--data-dir", ".", "--epochs", "1", "--quiet"});
  EXPECT_EQ(train.exit_code, 2) << train.output;
  EXPECT_THAT(train.output, HasSubstr("t10k-labels-idx1-ubyte are missing"));
  const ProcessResult verify =
      batchplus_in(scratch.path(), {"data", "verify", "fashion-mnist", "--data-dir", "."});
  EXPECT_EQ(verify.exit_code, 2);
  EXPECT_THAT(verify.output, HasSubstr("fashion-mnist: incomplete"));
}

TEST(Places, WithoutAHomeDatasetsAreNotPutIntoTheWorkingDirectory) {
  const Scratch scratch;
  const ProcessResult list = run_process({"env", "-u", "HOME", "-u", "XDG_CACHE_HOME", "-u", "BATCHPLUS_DATA",
                                          BATCHPLUS_PROGRAM, "data", "list"},
                                         scratch.path());
  EXPECT_EQ(list.exit_code, 2) << list.output;
  EXPECT_THAT(list.output, HasSubstr("$HOME"));
  EXPECT_THAT(list.output, HasSubstr("--data-dir"));
  EXPECT_TRUE(fs::is_empty(scratch.path()));
}

}  // namespace
}  // namespace batchplus
