#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace batchplus {

/// Digests by file name: SHA-256, or MD5 where that is what was published (told apart by their length).
using Checksums = std::map<std::string, std::string>;

/// The name of the file, in the format of sha256sum, that `data fetch` leaves beside what it brought.
inline constexpr const char* kChecksumFile = "SHA256SUMS";

std::string format_checksums(const Checksums& checksums);

/// The file's digest, of the same kind as `like`.
std::string digest_like(const std::filesystem::path& file, const std::string& like);

/// Checks every file that the folder's SHA256SUMS lists, and returns the list; nothing when there is no such
/// file. A file that is missing or differs is an Error.
std::optional<Checksums> verify_recorded_checksums(const std::filesystem::path& folder);

}  // namespace batchplus
