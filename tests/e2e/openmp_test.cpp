#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "support/environment.h"
#include "support/installed_program.h"
#include "support/program.h"
#include "support/scratch.h"
#include "util/file.h"

namespace batchplus {
namespace {

namespace fs = std::filesystem;
using testing::batchplus;
using testing::Environment;
using ::testing::HasSubstr;

/// The libgomp that the core loads, as ldd says: "libgomp.so.1 => /lib/x86_64-linux-gnu/libgomp.so.1
/// (0x...)".
fs::path system_libgomp() {
  const std::string libraries = run_process({"ldd", testing::core_of_program().string()}, "/").output;
  const size_t begin = libraries.find("/", libraries.find("libgomp.so.1 => "));
  return fs::canonical(libraries.substr(begin, libraries.find(" ", begin) - begin));
}

/// A copy under another name, in the file and in the library itself, as a PyTorch wheel has one: the loader
/// takes a library of the same name for the same library.
void copy_under_another_name(const fs::path& library, const fs::path& copy) {
  std::string bytes = read_file(library);
  const std::string name = "libgomp.so.1", other = "libgomp-a.so";
  for (size_t at = bytes.find(name); at != std::string::npos; at = bytes.find(name, at + name.size()))
    bytes.replace(at, name.size(), other);
  write_file_atomically(copy, bytes);
}

const std::vector<std::string> kTraining = {
    "train", "--model",  "mlp", "--dataset", "synthetic", "--train-limit", "256", "--test-limit",
    "64",    "--epochs", "1",   "--threads", "1",         "--quiet"};

class OpenMp : public ::testing::Test {
 protected:
  const testing::Scratch scratch_;
  const fs::path other_ = scratch_ / "libgomp-a34b3233.so.1.0.0";  // as in a PyTorch wheel
  const Environment not_allowed_{"KMP_DUPLICATE_LIB_OK", nullptr};
};

TEST_F(OpenMp, TwoCopiesOfTheRuntimeAreRefusedWhereTheProgramWouldCompute) {
  copy_under_another_name(system_libgomp(), other_);
  const Environment preload("LD_PRELOAD", other_.c_str());
  const ProcessResult training = batchplus(kTraining);
  EXPECT_EQ(training.exit_code, 2);
  EXPECT_THAT(training.output, HasSubstr("two OpenMP runtimes"));
  EXPECT_THAT(training.output, HasSubstr(other_.string()));
  EXPECT_EQ(batchplus({"methods"}).exit_code, 0);
  const Environment allowed("KMP_DUPLICATE_LIB_OK", "TRUE");
  EXPECT_EQ(batchplus(kTraining).exit_code, 0);
}

TEST_F(OpenMp, ALinkInPlaceOfTheCopyIsEnoughToRun) {
  fs::create_symlink(system_libgomp(), other_);
  const Environment preload("LD_PRELOAD", other_.c_str());
  const ProcessResult training = batchplus(kTraining);
  EXPECT_EQ(training.exit_code, 0) << training.output;
}

}  // namespace
}  // namespace batchplus
