#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace batchplus {

/// An archive's files by name.
using ArchiveFiles = std::map<std::string, std::string>;

/// The regular files of a .tar or .tar.gz that are in `wanted`, by their last path component. Nothing is
/// written anywhere, so paths and links in the archive lead nowhere. All of `wanted` must be there.
ArchiveFiles read_tar(std::string_view bytes, const std::set<std::string>& wanted, const std::string& where);

/// All entries of a zip archive by their path. They must be stored uncompressed, as torch.save does, so they
/// cannot exceed the archive itself.
ArchiveFiles read_zip(std::string_view bytes, const std::string& where);

}  // namespace batchplus
