#pragma once

#include <filesystem>

#include "util/file.h"

namespace batchplus::testing {

/// A directory of a test's own, removed at the end of the test.
class Scratch {
 public:
  std::filesystem::path operator/(const std::string& name) const { return directory_.path() / name; }
  const std::filesystem::path& path() const { return directory_.path(); }

 private:
  ScratchDirectory directory_{std::filesystem::temp_directory_path()};
};

}  // namespace batchplus::testing
