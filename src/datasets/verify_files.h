#pragma once

#include <string>

#include "datasets/registry.h"

namespace batchplus {

/// How far the files are known to be right.
enum class Verification {
  /// They have the published checksums.
  kOfficial,
  /// They have the checksums that were noted when they were fetched.
  kAsFetched,
  /// Their layout and labels are right; nothing is known to compare them with.
  kLayout,
};
std::string to_string(Verification verification);

/// Compares with every checksum that is known. A file that was fetched and has changed is an Error, and so is
/// one of another dataset.
Verification verify_files(const DatasetInfo& info, const DatasetLocation& location);

}  // namespace batchplus
