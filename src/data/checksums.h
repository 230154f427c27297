#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace batchplus {

/// SHA-256 by file name, as in a SHA256SUMS file.
using Checksums = std::map<std::string, std::string>;

/// The name of the file, in the format of sha256sum, that `data fetch` leaves beside what it verified.
inline constexpr const char* kChecksumFile = "SHA256SUMS";

std::string format_checksums(const Checksums& checksums);

/// Checks every file that the folder's SHA256SUMS lists; returns false when there is no such file.
/// A file that is missing or differs is an Error.
bool verify_checksums(const std::filesystem::path& folder);

}  // namespace batchplus
