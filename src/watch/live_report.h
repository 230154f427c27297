#pragma once

#include <string>
#include <vector>

#include "util/json.h"
#include "watch/watcher.h"

namespace batchplus {

/// What to compare: the runs of a sweep, chosen ones, each for itself, or all that are in no sweep.
struct LiveSelection {
  std::string sweep = {};
  std::vector<std::string> runs = {};

  std::string key() const;
};

/// The report of runs as they are now: title, notes and tables (HTML), what the charts draw, and the grid
/// with the ids of its runs. Runs that still run are in the curves, and not in the tables. An Error when
/// there are no such runs, or more than can be compared at once.
Json live_report(const Watcher& watcher, const LiveSelection& selection);

}  // namespace batchplus
