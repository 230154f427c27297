#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "util/json.h"

namespace batchplus {

/// The files that a command writes into a folder. JSON among them tells that an earlier one of its kind is
/// there, which may be replaced, and has checksums of itself and of the others.
struct OwnFiles {
  /// "measurement".
  std::string kind;
  /// The JSON file, and the keys that it has if this program wrote it.
  std::string json;
  std::vector<std::string> keys;
  /// The other files.
  std::vector<std::string> others;
};

/// Makes the folder. An Error when one of the files is there and not of an earlier result of its kind, was
/// changed since, or cannot be replaced: before hours of work, and not after them.
void require_free_for(const OwnFiles& own, const std::filesystem::path& folder);

/// Writes the JSON, and those of the other files that this result has, by their names. Those that it has not
/// do not stay beside it.
void write_own_files(const OwnFiles& own, const std::filesystem::path& folder, Json json,
                     const std::map<std::string, std::string>& others);

}  // namespace batchplus
