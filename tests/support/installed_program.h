#pragma once

#include <filesystem>

namespace batchplus::testing {

/// The core of the program that is tested.
inline std::filesystem::path core_of_program() {
  return std::filesystem::path(BATCHPLUS_PROGRAM).parent_path() / "libexec/batchplus/batchplus-core";
}

/// Puts launcher and core where an installation puts them; the launcher's path.
inline std::filesystem::path copy_program(const std::filesystem::path& prefix) {
  const std::filesystem::path launcher = prefix / "bin/batchplus";
  const std::filesystem::path core = prefix / "libexec/batchplus/batchplus-core";
  std::filesystem::create_directories(launcher.parent_path());
  std::filesystem::create_directories(core.parent_path());
  std::filesystem::copy_file(BATCHPLUS_PROGRAM, launcher);
  std::filesystem::copy_file(core_of_program(), core);
  return launcher;
}

}  // namespace batchplus::testing
