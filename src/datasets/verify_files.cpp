#include "datasets/verify_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "formats/gzip.h"
#include "util/error.h"
#include "util/file.h"
#include "util/hash.h"

namespace batchplus {
namespace fs = std::filesystem;
namespace {

/// Whether the file, unpacked, has the digest.
bool has_digest(const fs::path& folder, const std::string& name, const std::string& digest) {
  const fs::path file = plain_or_gzip(folder, name);
  if (file.extension() != ".gz") return digest_like(file, digest) == digest;
  return sha256_hex(gunzip(read_file(file), file.string())) == digest;
}

/// Files of one dataset under the name of another, which has files of the same names.
void require_no_other(const DatasetInfo& info, const fs::path& folder) {
  for (const DatasetInfo& other : datasets()) {
    if (other.name == info.name) continue;
    for (const std::string& name : info.files) {
      const auto known = other.sources.checksums.find(name);
      if (known == other.sources.checksums.end() || !has_digest(folder, name, known->second)) continue;
      throw Error(fmt::format("the file is that of {}, not of {}", other.name, info.name),
                  {plain_or_gzip(folder, name).string(), known->second,
                   fmt::format("name {} as the dataset, or another data directory", other.name)});
    }
  }
}

}  // namespace

std::string to_string(Verification verification) {
  switch (verification) {
    case Verification::kOfficial: return "official";
    case Verification::kAsFetched: return "as fetched";
    case Verification::kLayout: return "layout";
  }
  BATCHPLUS_CHECK(false, "the switch covers every kind");
}

Verification verify_files(const DatasetInfo& info, const DatasetLocation& location) {
  if (info.files.empty()) return Verification::kLayout;
  if (location.is_archive) {
    const std::string& md5 = info.sources.official.front().md5;
    return digest_like(location.path, md5) == md5 ? Verification::kOfficial : Verification::kLayout;
  }
  const auto recorded = verify_recorded_checksums(location.path);
  const auto& known = info.sources.checksums;
  const bool is_official = std::all_of(info.files.begin(), info.files.end(), [&](const auto& name) {
    const auto entry = known.find(name);
    if (entry == known.end()) return false;
    // A file that has just been compared need not be read again.
    const bool is_compared = recorded && recorded->contains(name) && recorded->at(name) == entry->second;
    return is_compared || has_digest(location.path, name, entry->second);
  });
  if (is_official) return Verification::kOfficial;
  require_no_other(info, location.path);
  return recorded ? Verification::kAsFetched : Verification::kLayout;
}

}  // namespace batchplus
