#include "util/part_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "util/file.h"
#include "util/hash.h"

namespace batchplus {
namespace fs = std::filesystem;

PartFile::PartFile(const fs::path& target)
    : path_(target.string() + ".part"),
      descriptor_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {
  if (descriptor_ < 0) throw_system_error("cannot write file", path_, errno);
  size_ = std::max<int64_t>(0, ::lseek(descriptor_, 0, SEEK_END));
}

PartFile::~PartFile() {
  ::close(descriptor_);
  if (size_ == 0) ::unlink(path_.c_str());
}

void PartFile::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw_system_error("cannot write file", path_, errno);
    bytes.remove_prefix(static_cast<size_t>(written));
    size_ += written;
  }
}

void PartFile::clear() {
  if (size_ > 0 && ::ftruncate(descriptor_, 0) != 0) throw_system_error("cannot write file", path_, errno);
  size_ = 0;
}

std::string PartFile::synced_md5() const {
  if (::fsync(descriptor_) != 0) throw_system_error("cannot write file", path_, errno);
  return hash_file(path_, HashKind::kMd5);
}

void PartFile::move_to(const fs::path& target) const {
  require_replaceable(target, "");
  if (::rename(path_.c_str(), target.c_str()) != 0) throw_system_error("cannot write file", target, errno);
  sync_directory(target.parent_path());
}

}  // namespace batchplus
