#include "cli/own_programs.h"

#include "util/error.h"

namespace batchplus {
namespace fs = std::filesystem;
namespace {

constexpr const char* kCore = "batchplus-core";

fs::path this_program() {
  return fs::read_symlink("/proc/self/exe");
}

/// The core of a launcher in `here` that was built and not installed.
fs::path built_core_below(const fs::path& here) {
  return here / "libexec/batchplus" / kCore;
}

}  // namespace

bool is_in_build_tree() {
  return fs::exists(built_core_below(called_program().parent_path()));
}

fs::path core_program() {
  const fs::path here = this_program().parent_path();
  const fs::path built = built_core_below(here);
  const fs::path installed = here / BATCHPLUS_CORE_FROM_LAUNCHER / kCore;
  for (const fs::path& core : {built, installed}) {
    if (fs::exists(core)) return core.lexically_normal();
  }
  throw Error("a part of the program is missing",
              {installed.lexically_normal().string(), "",
               "install the program as a whole, or build it again with 'script/build'"},
              Error::kFailure);
}

fs::path called_program() {
  const fs::path self = this_program();
  if (self.filename() != kCore) return self;
  const fs::path here = self.parent_path();
  for (const fs::path& launcher : {here / "../../batchplus", here / BATCHPLUS_LAUNCHER_FROM_CORE}) {
    if (fs::is_regular_file(launcher)) return launcher.lexically_normal();
  }
  return self;
}

}  // namespace batchplus
