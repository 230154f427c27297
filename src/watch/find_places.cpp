#include "watch/find_places.h"

#include <algorithm>
#include <set>

#include "util/error.h"

namespace batchplus {
namespace fs = std::filesystem;
namespace {

constexpr int kDeepest = 8;
constexpr int64_t kMostFolders = 50'000;
constexpr size_t kMostBytesOfSweep = 64 << 20;

bool is_run(const GivenFolder& folder, const fs::path& relative) {
  for (const char* name : {"status.json", "metrics.jsonl", "checkpoint.pt"}) {
    if (folder.mark(relative / name)) return true;
  }
  return false;
}

/// A description is somebody's file: what it calls a run is a name, and no way to elsewhere.
bool is_name(const std::string& id) {
  constexpr size_t kLongest = 100;
  const bool is_plain = id.find_first_of(std::string_view("/\0", 2)) == std::string::npos;
  return !id.empty() && id.size() <= kLongest && is_plain && id != "." && id != "..";
}

}  // namespace

void PlaceFinder::add_sweep(const GivenFolder& folder, const fs::path& relative, const FileMark& mark) {
  WatchedSweep sweep{.folder = &folder, .relative = relative, .mark = mark};
  sweep.id = id_of_path(sweep.path());
  if (sweeps_.contains(sweep.id)) return;
  const auto known = known_sweeps_.find(sweep.id);
  if (known != known_sweeps_.end() && known->second.mark == mark) {
    sweep = known->second;
  } else {
    try {
      const auto text = folder.read_whole(relative / "sweep.json", kMostBytesOfSweep);
      if (!text) throw Error("sweep.json cannot be read");
      auto description = std::make_shared<SweepFile>(parse_sweep_file(*text, "sweep.json"));
      for (const SweepFile::Run& run : description->runs) {
        if (!is_name(run.id)) throw Error("not the description of a sweep", {"sweep.json", run.id, ""});
      }
      sweep.description = std::move(description);
    } catch (const Error& problem) {
      sweep.problem = problem.what();
    }
  }
  if (sweep.description) {
    std::set<std::string> seen;
    for (const SweepFile::Run& run : sweep.description->runs) {
      // Cells may share a run.
      if (!seen.insert(run.id).second) continue;
      places_.push_back({.folder = &folder,
                         .relative = relative / "runs" / run.id,
                         .sweep = relative,
                         .description = sweep.description,
                         .id_in_sweep = run.id});
    }
  }
  sweeps_[sweep.id] = std::move(sweep);
}

void PlaceFinder::look_into(const GivenFolder& folder, const fs::path& relative, int depth) {
  if (--folders_left_ < 0) return;
  if (is_run(folder, relative)) {
    places_.push_back({.folder = &folder, .relative = relative});
    return;
  }
  if (const auto mark = folder.mark(relative / "sweep.json")) add_sweep(folder, relative, *mark);
  if (depth >= kDeepest) return;
  for (const std::string& name : folder.folders_in(relative)) look_into(folder, relative / name, depth + 1);
}

std::vector<WatchedPlace> PlaceFinder::find() {
  folders_left_ = kMostFolders;
  known_sweeps_ = std::move(sweeps_);
  sweeps_.clear();
  places_.clear();
  for (const GivenFolder& folder : folders_) look_into(folder, {}, 0);
  // One run may be found as that of a sweep and as a folder, and under two of the given paths.
  std::stable_sort(places_.begin(), places_.end(), [](const WatchedPlace& a, const WatchedPlace& b) {
    return (a.description != nullptr) > (b.description != nullptr);
  });
  std::set<fs::path> seen;
  std::erase_if(places_, [&](const WatchedPlace& place) { return !seen.insert(place.path()).second; });
  return std::move(places_);
}

}  // namespace batchplus
