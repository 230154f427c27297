#pragma once

#include <archive.h>
#include <archive_entry.h>

#include <string>
#include <vector>

#include "support/scratch.h"

namespace batchplus::testing {

struct TarEntry {
  enum class Kind { kFile, kSymlink };
  std::string path;
  /// A file's content, or where a link points to.
  std::string content;
  Kind kind = Kind::kFile;
};

/// The bytes of a .tar.gz.
inline std::string tar_gz(const std::vector<TarEntry>& entries) {
  const Scratch scratch;
  archive* writer = archive_write_new();
  archive_write_add_filter_gzip(writer);
  archive_write_set_format_ustar(writer);
  archive_write_open_filename(writer, (scratch / "file").c_str());
  for (const auto& [path, content, kind] : entries) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, path.c_str());
    archive_entry_set_perm(entry, 0644);
    if (kind == TarEntry::Kind::kSymlink) {
      archive_entry_set_filetype(entry, AE_IFLNK);
      archive_entry_set_symlink(entry, content.c_str());
    } else {
      archive_entry_set_filetype(entry, AE_IFREG);
      archive_entry_set_size(entry, static_cast<la_int64_t>(content.size()));
    }
    archive_write_header(writer, entry);
    if (kind == TarEntry::Kind::kFile) archive_write_data(writer, content.data(), content.size());
    archive_entry_free(entry);
  }
  archive_write_close(writer);
  archive_write_free(writer);
  return read_file(scratch / "file");
}

}  // namespace batchplus::testing
