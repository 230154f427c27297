#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "watch/watched_run.h"

namespace batchplus {

/// A sweep that was found, with what its sweep.json says.
struct WatchedSweep {
  /// As a run's.
  std::string id = {};
  const GivenFolder* folder = nullptr;
  std::filesystem::path relative = {};
  std::optional<FileMark> mark = {};
  /// Null when sweep.json cannot be used; then `problem` says why.
  std::shared_ptr<const SweepFile> description = nullptr;
  std::string problem = {};

  std::filesystem::path path() const { return relative.empty() ? folder->path() : folder->path() / relative; }
};

/// Finds runs and sweeps in given folders, and remembers what it has read of sweeps.
class PlaceFinder {
 public:
  explicit PlaceFinder(const std::vector<GivenFolder>& folders) : folders_(folders) {}

  /// Every run that there is now, waiting ones of sweeps included, each once.
  std::vector<WatchedPlace> find();
  /// Those of the last find(), by their ids.
  const std::map<std::string, WatchedSweep>& sweeps() const { return sweeps_; }
  /// Whether there was more than is looked at.
  bool is_too_much() const { return folders_left_ <= 0; }

 private:
  void look_into(const GivenFolder& folder, const std::filesystem::path& relative, int depth);
  void add_sweep(const GivenFolder& folder, const std::filesystem::path& relative, const FileMark& mark);

  const std::vector<GivenFolder>& folders_;
  std::map<std::string, WatchedSweep> sweeps_;
  std::map<std::string, WatchedSweep> known_sweeps_;
  std::vector<WatchedPlace> places_;
  int64_t folders_left_ = 0;
};

}  // namespace batchplus
