#include "watch/given_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <utility>

#include "util/error.h"

namespace batchplus {
namespace fs = std::filesystem;
namespace {

FileMark mark_of(const struct stat& status) {
  constexpr int64_t kNanoseconds = 1'000'000'000;
  return {status.st_dev, status.st_ino, status.st_size,
          status.st_mtim.tv_sec * kNanoseconds + status.st_mtim.tv_nsec};
}

/// Closes a descriptor at the end of the scope.
struct Opened {
  int descriptor;
  ~Opened() {
    if (descriptor >= 0) ::close(descriptor);
  }
};

}  // namespace

GivenFolder::GivenFolder(const fs::path& path) : descriptor_(-1) {
  std::error_code problem;
  path_ = fs::canonical(path, problem);
  if (!problem) descriptor_ = ::open(path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (descriptor_ < 0) {
    throw Error("not a directory",
                {path.string(), "", "name run directories, sweeps, or folders that hold some"});
  }
}

GivenFolder::~GivenFolder() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

GivenFolder::GivenFolder(GivenFolder&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

int GivenFolder::open_inside(const fs::path& relative, int flags) const {
  int at = ::dup(descriptor_);
  const auto last = relative.empty() ? relative.end() : std::prev(relative.end());
  for (auto part = relative.begin(); part != relative.end() && at >= 0; ++part) {
    const bool is_last = part == last;
    const bool is_plain = !part->empty() && *part != ".." && !part->is_absolute();
    const int how = is_last ? flags | O_NOFOLLOW | O_CLOEXEC : O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    const int next = is_plain ? ::openat(at, part->c_str(), how) : -1;
    ::close(at);
    at = next;
  }
  return at;
}

std::optional<FileMark> GivenFolder::mark(const fs::path& relative) const {
  struct stat status {};
  if (::fstatat(descriptor_, relative.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  if (!S_ISREG(status.st_mode)) return std::nullopt;
  return mark_of(status);
}

std::optional<GivenFolder::Piece> GivenFolder::read(const fs::path& relative, int64_t offset,
                                                    size_t most_bytes) const {
  const Opened file{open_inside(relative, O_RDONLY | O_NONBLOCK)};
  struct stat status {};
  if (file.descriptor < 0 || ::fstat(file.descriptor, &status) != 0 || !S_ISREG(status.st_mode))
    return std::nullopt;
  Piece piece{mark_of(status), {}};
  const int64_t rest = std::max<int64_t>(0, status.st_size - offset);
  piece.bytes.resize(std::min(most_bytes, static_cast<size_t>(rest)));
  size_t done = 0;
  while (done < piece.bytes.size()) {
    const ssize_t count = ::pread(file.descriptor, piece.bytes.data() + done, piece.bytes.size() - done,
                                  offset + static_cast<int64_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    if (count == 0) break;
    done += static_cast<size_t>(count);
  }
  piece.bytes.resize(done);
  return piece;
}

std::optional<std::string> GivenFolder::read_whole(const fs::path& relative, size_t most_bytes) const {
  auto piece = read(relative, 0, most_bytes + 1);
  if (!piece || piece->bytes.size() > most_bytes) return std::nullopt;
  return std::move(piece->bytes);
}

std::vector<std::string> GivenFolder::folders_in(const fs::path& relative) const {
  // A folder that is looked into needs a descriptor that can be read, and O_PATH gives none.
  const int descriptor = relative.empty() ? ::openat(descriptor_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                                          : open_inside(relative, O_RDONLY | O_DIRECTORY);
  std::vector<std::string> names;
  if (descriptor < 0) return names;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::fdopendir(descriptor), &::closedir);
  if (!directory) {
    ::close(descriptor);
    return names;
  }
  while (const dirent* entry = ::readdir(directory.get())) {
    const std::string name = entry->d_name;
    if (name.starts_with('.')) continue;
    bool is_folder = entry->d_type == DT_DIR;
    if (entry->d_type == DT_UNKNOWN) is_folder = has_folder(relative / name);
    if (is_folder) names.push_back(name);
  }
  return names;
}

int GivenFolder::open_folder(const fs::path& relative) const {
  return relative.empty() ? ::fcntl(descriptor_, F_DUPFD_CLOEXEC, 0)
                          : open_inside(relative, O_PATH | O_DIRECTORY);
}

bool GivenFolder::has_folder(const fs::path& relative) const {
  struct stat status {};
  return ::fstatat(descriptor_, relative.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISDIR(status.st_mode);
}

}  // namespace batchplus
