#include "core/openmp_runtimes.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "support/environment.h"
#include "support/expect_error.h"
#include "support/scratch.h"

namespace batchplus {
namespace {

namespace fs = std::filesystem;

/// libgomp of this process, which at::parallel_for needs.
fs::path own_runtime() {
  return fs::canonical(openmp_runtimes().at(0));
}

TEST(OpenMpRuntimes, ThisProgramHasOne) {
  if (std::getenv("LD_PRELOAD") != nullptr) GTEST_SKIP() << "LD_PRELOAD may bring another";
  EXPECT_EQ(openmp_runtimes().size(), 1u);
  require_one_openmp_runtime();
}

/// Ends with 0 if a copy of the library, loaded under the name that a PyTorch wheel gives its own, is
/// noticed.
[[noreturn]] void load_a_copy_and_end(const fs::path& copy) {
  fs::copy_file(own_runtime(), copy);
  if (::dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) ADD_FAILURE() << ::dlerror();
  EXPECT_THAT(openmp_runtimes(), ::testing::Contains(copy.string()));
  const testing::Environment not_allowed("KMP_DUPLICATE_LIB_OK", nullptr);
  testing::expect_error([] { require_one_openmp_runtime(); },
                        {"two OpenMP runtimes", copy.string(), "ln -sf"});
  {
    const testing::Environment allowed("KMP_DUPLICATE_LIB_OK", "TRUE");
    require_one_openmp_runtime();
  }
  std::_Exit(::testing::Test::HasFailure() ? 1 : 0);
}

// In a process of its own: a second runtime does not give back what it took when it was loaded.
TEST(OpenMpRuntimes, ACopyOfTheLibraryIsASecondOne) {
  const testing::Scratch scratch;
  EXPECT_EXIT(load_a_copy_and_end(scratch / "libgomp-a34b3233.so.1.0.0"), ::testing::ExitedWithCode(0), "");
}

TEST(OpenMpRuntimes, ALinkToTheLibraryIsNot) {
  const testing::Scratch scratch;
  const fs::path link = scratch / "libgomp-a34b3233.so.1.0.0";
  fs::create_symlink(own_runtime(), link);
  const std::vector<std::string> before = openmp_runtimes();
  void* const loaded = ::dlopen(link.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(loaded, nullptr) << ::dlerror();
  EXPECT_EQ(openmp_runtimes(), before);
  ::dlclose(loaded);
}

}  // namespace
}  // namespace batchplus
