#include "util/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "util/error.h"

namespace batchplus {
namespace fs = std::filesystem;
namespace {

/// Between the name of a file and the random letters of the temporary one that is to replace it.
constexpr std::string_view kPendingMark = ".batchplus-tmp.";

/// Closes its descriptor at the end of the scope.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

void write_all(int descriptor, std::string_view bytes, const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      throw_system_error("cannot write file", path, errno);
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

/// How many bytes were read; 0 at the end.
size_t read_some(int descriptor, char* bytes, size_t size, const fs::path& path) {
  while (true) {
    const ssize_t count = ::read(descriptor, bytes, size);
    if (count >= 0) return static_cast<size_t>(count);
    if (errno != EINTR) throw_system_error("cannot read file", path, errno);
  }
}

const char* kind_of(mode_t mode) {
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

[[noreturn]] void refuse_to_read(const fs::path& path, mode_t mode) {
  if (S_ISDIR(mode)) throw_system_error("cannot read file", path, EISDIR);
  throw Error("not a regular file", {path.string(), kind_of(mode), "write it into a file, and name that"});
}

fs::path directory_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

}  // namespace

void throw_system_error(const std::string& what, const fs::path& path, int code) {
  const bool is_environment = code == ENOSPC || code == EIO || code == EDQUOT || code == EFBIG;
  throw Error(what,
              {path.string(), std::strerror(code), "check the path, its permissions and the free space"},
              is_environment ? Error::kFailure : Error::kBadInput);
}

void sync_directory(const fs::path& directory) {
  const Descriptor opened(
      ::open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.number() >= 0) ::fsync(opened.number());
}

std::string read_file(const fs::path& path) {
  // Opening a pipe does not wait for somebody who writes to it.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.number() < 0) throw_system_error("cannot open file", path, errno);
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) throw_system_error("cannot read file", path, errno);
  if (!S_ISREG(status.st_mode)) refuse_to_read(path, status.st_mode);
  std::string bytes(static_cast<size_t>(status.st_size), '\0');
  size_t filled = 0;
  while (filled < bytes.size()) {
    const size_t count = read_some(file.number(), bytes.data() + filled, bytes.size() - filled, path);
    if (count == 0) break;
    filled += count;
  }
  bytes.resize(filled);
  return bytes;
}

std::string read_text(const fs::path& path) {
  struct stat status {};
  // Of a pipe nobody writes to yet, opening it waits for somebody who does.
  if (::stat(path.c_str(), &status) != 0 || !S_ISFIFO(status.st_mode)) return read_file(path);
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() < 0) throw_system_error("cannot open file", path, errno);
  constexpr size_t kPiece = 1 << 16;
  constexpr size_t kLongest = 1 << 26;
  std::string bytes;
  while (true) {
    const size_t filled = bytes.size();
    bytes.resize(filled + kPiece);
    const size_t count = read_some(file.number(), bytes.data() + filled, kPiece, path);
    bytes.resize(filled + count);
    if (count == 0) return bytes;
    if (bytes.size() > kLongest)
      throw Error("the pipe does not end", {path.string(), "more than 64 MiB", "name a text file"});
  }
}

void require_replaceable(const fs::path& path, const std::string& where) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return;
    throw_system_error("cannot write file", path, errno);
  }
  const std::string place = where.empty() ? path.string() : fmt::format("{} {}", where, path.string());
  if (S_ISLNK(status.st_mode)) {
    std::error_code ignored;
    throw Error("cannot write file: a symbolic link is there",
                {place, "it leads to " + fs::read_symlink(path, ignored).string(),
                 "name the file that it leads to, or remove the link"});
  }
  if (S_ISDIR(status.st_mode)) {
    throw Error("cannot write file: it is a directory, not a file", {place, "", "name a file inside it"});
  }
  if (!S_ISREG(status.st_mode)) {
    throw Error("cannot write file: what is there is not a regular file",
                {place, kind_of(status.st_mode), "name a file, or a path where nothing is yet"});
  }
  // The bits say what the owner wants; a superuser could write anyway.
  constexpr mode_t kWritable = S_IWUSR | S_IWGRP | S_IWOTH;
  if ((status.st_mode & kWritable) == 0 || ::access(path.c_str(), W_OK) != 0) {
    throw Error("cannot write file: the file that is there is read-only",
                {place, "", "name another file, or make this one writable"});
  }
}

void write_file_atomically(const fs::path& path, std::string_view bytes) {
  PendingFile(path, bytes).commit();
}

PendingFile::PendingFile(fs::path target, std::string_view bytes) : target_(std::move(target)) {
  require_replaceable(target_, "");
  std::string temporary = fmt::format("{}{}XXXXXX", target_.string(), kPendingMark);
  const Descriptor file(::mkostemp(temporary.data(), O_CLOEXEC));
  if (file.number() < 0) throw_system_error("cannot write file", target_, errno);
  path_ = temporary;
  try {
    write_all(file.number(), bytes, target_);
    if (::fchmod(file.number(), 0644) != 0) throw_system_error("cannot write file", target_, errno);
    if (::fsync(file.number()) != 0) throw_system_error("cannot write file", target_, errno);
  } catch (...) {
    ::unlink(path_.c_str());
    throw;
  }
}

PendingFile::~PendingFile() {
  if (!is_committed_) ::unlink(path_.c_str());
}

void PendingFile::commit() {
  if (::rename(path_.c_str(), target_.c_str()) != 0) throw_system_error("cannot write file", target_, errno);
  is_committed_ = true;
  sync_directory(target_.parent_path());
}

void remove_pending_files(const fs::path& target) {
  const std::string begin = fmt::format("{}{}", target.filename().string(), kPendingMark);
  constexpr size_t kRandomLetters = 6;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(target.parent_path(), ignored)) {
    const std::string name = entry.path().filename().string();
    const bool is_pending = name.starts_with(begin) && name.size() == begin.size() + kRandomLetters &&
                            entry.symlink_status(ignored).type() == fs::file_type::regular;
    if (is_pending) fs::remove(entry.path(), ignored);
  }
}

void append_bytes(const fs::path& path, std::string_view bytes) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (file.number() < 0) {
    const int problem = errno;
    if (problem == ELOOP) require_replaceable(path, "");
    throw_system_error("cannot append to file", path, problem);
  }
  struct stat before {};
  if (::fstat(file.number(), &before) != 0) throw_system_error("cannot append to file", path, errno);
  try {
    write_all(file.number(), bytes, path);
  } catch (const Error&) {
    if (::ftruncate(file.number(), before.st_size) != 0)
      throw_system_error("cannot append to file", path, errno);
    throw;
  }
}

void append_line(const fs::path& path, std::string_view line) {
  append_bytes(path, fmt::format("{}\n", line));
}

void make_directories(const fs::path& path) {
  std::error_code problem;
  const bool is_link = fs::is_symlink(path, problem);
  if (is_link && !fs::exists(path, problem)) {
    throw Error("cannot create directory: a symbolic link is there that leads nowhere",
                {path.string(), "it leads to " + fs::read_symlink(path, problem).string(),
                 "make what it leads to, or remove the link"});
  }
  fs::create_directories(path, problem);
  if (problem) throw_system_error("cannot create directory", path, problem.value());
}

void require_writable_target(const fs::path& path, const std::string& where) {
  require_replaceable(path, where);
  const fs::path directory = directory_of(path);
  std::string probe = (directory / ".batchplus-probe.XXXXXX").string();
  const Descriptor file(::mkostemp(probe.data(), O_CLOEXEC));
  const int problem = errno;
  if (file.number() < 0) {
    throw Error("cannot write there", {fmt::format("{} {}", where, path.string()), std::strerror(problem),
                                       "name a file in an existing directory that you may write to"});
  }
  ::unlink(probe.c_str());
}

namespace {

constexpr std::string_view kScratch = ".scratch.";
constexpr std::string_view kRandomLetters = "XXXXXX";

}  // namespace

ScratchDirectory::ScratchDirectory(const fs::path& parent) {
  make_directories(parent);
  std::string name = (parent / fmt::format("{}{}", kScratch, kRandomLetters)).string();
  if (::mkdtemp(name.data()) == nullptr) throw_system_error("cannot create directory", parent, errno);
  path_ = name;
}

void ScratchDirectory::remove_leftovers(const fs::path& parent) {
  std::error_code ignored;
  std::vector<fs::path> leftovers;
  for (const auto& entry : fs::directory_iterator(parent, ignored)) {
    const std::string name = entry.path().filename().string();
    const bool is_one = name.starts_with(kScratch) && name.size() == kScratch.size() + kRandomLetters.size();
    if (is_one && entry.symlink_status().type() == fs::file_type::directory)
      leftovers.push_back(entry.path());
  }
  for (const fs::path& leftover : leftovers) fs::remove_all(leftover, ignored);
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace batchplus
