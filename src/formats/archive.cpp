#include "formats/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "formats/image_bytes.h"
#include "util/error.h"
#include "util/text.h"

namespace batchplus {
namespace {

/// Entries of an archive in memory, one after the other.
class ArchiveReader {
 public:
  using Setup = void (*)(archive*);

  ArchiveReader(std::string_view bytes, const std::string& where, Setup setup)
      : where_(where), reader_(archive_read_new(), archive_read_free) {
    setup(reader_.get());
    require(archive_read_open_memory(reader_.get(), bytes.data(), bytes.size()));
  }

  /// Moves to the next entry; false at the end.
  bool next() {
    const int result = archive_read_next_header(reader_.get(), &entry_);
    if (result == ARCHIVE_EOF) return false;
    require(result);
    return true;
  }

  std::string path() const {
    const char* name = archive_entry_pathname(entry_);
    return name == nullptr ? "" : name;
  }

  bool is_regular_file() const {
    return archive_entry_filetype(entry_) == AE_IFREG && archive_entry_hardlink(entry_) == nullptr;
  }

  /// The entry's bytes; they grow as they are read, whatever size the header claims. An Error beyond `limit`.
  std::string content(size_t limit) {
    std::string bytes;
    while (true) {
      const void* block = nullptr;
      size_t size = 0;
      la_int64_t offset = 0;
      const int status = archive_read_data_block(reader_.get(), &block, &size, &offset);
      if (status == ARCHIVE_EOF) return bytes;
      require(status);
      if (static_cast<size_t>(offset) != bytes.size()) fail(fmt::format("{} has holes", path()));
      if (size > limit - bytes.size()) fail(fmt::format("{} is larger than {} bytes", path(), limit));
      bytes.append(static_cast<const char*>(block), size);
    }
  }

  [[noreturn]] void fail(const std::string& reason) const {
    const auto offset = archive_filter_bytes(reader_.get(), -1);
    throw Error("cannot read the archive", {fmt::format("{}, offset {}", where_, offset), reason,
                                            "the file is cut short, damaged, or something else"});
  }

 private:
  void require(int result) const {
    if (result == ARCHIVE_OK) return;
    const char* reason = archive_error_string(reader_.get());
    fail(reason == nullptr ? "damaged" : reason);
  }

  const std::string& where_;
  std::unique_ptr<archive, int (*)(archive*)> reader_;
  archive_entry* entry_ = nullptr;
};

}  // namespace

ArchiveFiles read_tar(std::string_view bytes, const std::set<std::string>& wanted, const std::string& where) {
  ArchiveReader reader(bytes, where, [](archive* a) {
    archive_read_support_filter_gzip(a);
    archive_read_support_format_tar(a);
  });
  const size_t limit = bytes.size() * static_cast<size_t>(kMaximumInflation);
  ArchiveFiles files;
  // Stops at the last wanted file: what follows is not needed.
  while (files.size() < wanted.size() && reader.next()) {
    const std::string name = std::filesystem::path(reader.path()).filename().string();
    if (reader.is_regular_file() && wanted.contains(name)) files[name] = reader.content(limit);
  }
  for (const auto& name : wanted) {
    if (!files.contains(name)) {
      throw Error("the archive does not hold the file",
                  {where, name, fmt::format("expected {}", join({wanted.begin(), wanted.end()}, ", "))});
    }
  }
  return files;
}

ArchiveFiles read_zip(std::string_view bytes, const std::string& where) {
  ArchiveReader reader(bytes, where, [](archive* a) { archive_read_support_format_zip_seekable(a); });
  ArchiveFiles files;
  size_t left = bytes.size();
  while (reader.next()) {
    std::string& content = files[reader.path()];
    content = reader.content(left);
    left -= content.size();
  }
  return files;
}

}  // namespace batchplus
