#include "datasets/checksums.h"

#include <fmt/format.h>

#include "util/error.h"
#include "util/file.h"
#include "util/hash.h"
#include "util/text.h"

namespace batchplus {
namespace fs = std::filesystem;

std::string format_checksums(const Checksums& checksums) {
  std::string text;
  for (const auto& [name, digest] : checksums) text += fmt::format("{}  {}\n", digest, name);
  return text;
}

std::string digest_like(const fs::path& file, const std::string& like) {
  constexpr size_t kMd5Digits = 32;
  return hash_file(file, like.size() == kMd5Digits ? HashKind::kMd5 : HashKind::kSha256);
}

std::optional<Checksums> verify_recorded_checksums(const fs::path& folder) {
  const fs::path list = folder / kChecksumFile;
  if (!fs::exists(list)) return std::nullopt;
  Checksums recorded;
  constexpr size_t kDigestDigits = 64;
  for (const auto& line : split(read_file(list), '\n')) {
    if (line.empty()) continue;
    if (line.size() < kDigestDigits + 3) {
      throw Error("not a line of checksums", {list.string(), line, "fetch the dataset again"});
    }
    const fs::path file = folder / fs::path(line.substr(kDigestDigits + 2)).filename();
    const std::string digest = hash_file(file);
    if (digest != line.substr(0, kDigestDigits)) {
      throw Error("corrupted data file: its checksum differs from the one recorded when it was fetched",
                  {file.string(), "sha256 " + digest,
                   fmt::format("remove {} and fetch the dataset again", folder.string())});
    }
    recorded[file.filename().string()] = digest;
  }
  return recorded;
}

}  // namespace batchplus
