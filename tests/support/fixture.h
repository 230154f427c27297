#pragma once

#include <filesystem>
#include <string>

namespace batchplus::testing {

/// A file of tests/fixtures.
inline std::filesystem::path fixture(const std::string& name) {
  return std::filesystem::path(BATCHPLUS_SOURCE_DIR) / "tests" / "fixtures" / name;
}

}  // namespace batchplus::testing
