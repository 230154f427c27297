#include "report/arrange.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "config/compare_configs.h"
#include "config/config_fields.h"
#include "config/config_toml.h"
#include "util/error.h"
#include "util/file.h"
#include "util/text.h"

namespace batchplus {
namespace fs = std::filesystem;
namespace {

using Config = ConfigValues;

/// What reads best is tried first when several keys differ together.
const std::vector<std::string> kMostTelling = {"dataset", "test_limit",  "split_seed", "model",
                                               "lr",      "inner_batch", "outer_batch"};

/// Those that decide what is tested, the first of them. Between their values nothing is compared.
const std::vector<std::string> kTested = {"dataset", "test_limit", "split_seed"};

/// A run with what says which one it is, and what came of it.
struct FoundRun {
  fs::path directory;
  RunConfig config;
  Json status;
  /// What is wrong with its other files.
  std::optional<Error> damage = {};

  bool has_ended() const { return batchplus::has_ended(status); }
  bool has_result_of(const FoundRun& other) const {
    return status["status"] == other.status["status"] &&
           status.value(kWeightsChecksum, "") == other.status.value(kWeightsChecksum, "");
  }
};

FoundRun find_run(const fs::path& directory) {
  const RunLayout layout{directory};
  FoundRun run{directory, parse_run_config(read_config(layout), layout.config().string()),
               read_status(layout)};
  try {
    if (run.has_ended()) read_run(directory);
  } catch (const Error& problem) {
    run.damage = problem;
  }
  return run;
}

/// Two runs with one config and seed are one: the first stays, unless the other is whole and it is not, or
/// the other is further. A note says so.
void join_runs(FoundRun& first, FoundRun other, Comparison& comparison) {
  if (first.damage || other.damage) {
    if (!other.damage) std::swap(first, other);
    note_damage(comparison, *other.damage);
    return;
  }
  if (first.has_ended() && other.has_ended() && !first.has_result_of(other)) {
    throw Error("two runs have one config and one seed, and different results",
                {first.directory.string(), other.directory.string(),
                 "leave one of them out; 'batchplus check' tells whether their files are whole"});
  }
  if (other.has_ended() && !first.has_ended()) std::swap(first, other);
  comparison.notes.push_back(fmt::format("{} has the config and the seed of {}, and counts once with it",
                                         other.directory.string(), first.directory.string()));
}

/// The runs that can be read, each once; notes say what happened to the others.
std::vector<FoundRun> read_each_once(const std::vector<fs::path>& directories, Comparison& comparison) {
  std::vector<FoundRun> runs;
  std::map<std::string, size_t> places;
  for (const fs::path& directory : directories) {
    std::optional<FoundRun> run;
    try {
      run = find_run(directory);
    } catch (const Error& problem) {
      note_damage(comparison, problem);
      continue;
    }
    const auto [place, is_new] = places.try_emplace(config_id(run->config), runs.size());
    if (is_new) {
      runs.push_back(std::move(*run));
    } else {
      join_runs(runs[place->second], std::move(*run), comparison);
    }
  }
  if (runs.empty()) {
    throw Error("no run can be read",
                {"", join(comparison.notes, "; "), "'batchplus check' says what is wrong with each"});
  }
  return runs;
}

/// What decides the result, key by key, but for the seed.
Config compared_keys(const RunConfig& config) {
  Config keys = result_values(config);
  keys.erase("seed");
  return keys;
}

std::string value_of_key(const Config& config, const std::string& key) {
  const auto found = config.find(key);
  return found == config.end() || found->second.empty() ? "unset" : found->second;
}

/// Values as labels of a table: a long one, like means and deviations, is cut short, and numbered where that
/// makes it the same as another.
void shorten_values(std::vector<Config>& configs, const std::string& key) {
  constexpr size_t kLongest = 24;
  std::map<std::string, std::string> labels;
  std::set<std::string> taken;
  for (Config& config : configs) {
    const std::string value = value_of_key(config, key);
    if (value.size() <= kLongest) continue;
    const auto [label, is_new] = labels.try_emplace(value, value.substr(0, kLongest - 3) + "...");
    for (int number = 2; is_new && !taken.insert(label->second).second; ++number)
      label->second = fmt::format("{}... ({})", value.substr(0, kLongest - 3), number);
    config[key] = label->second;
  }
}

/// Whether runs with the same values of `keys` always have the same value of `key`.
bool determine(const std::vector<Config>& configs, const std::vector<std::string>& keys,
               const std::string& key) {
  std::map<std::vector<std::string>, std::string> seen;
  return std::all_of(configs.begin(), configs.end(), [&](const Config& config) {
    std::vector<std::string> values;
    for (const std::string& each : keys) values.push_back(value_of_key(config, each));
    const auto [entry, is_new] = seen.try_emplace(values, value_of_key(config, key));
    return is_new || entry->second == value_of_key(config, key);
  });
}

bool has(const std::vector<std::string>& keys, const std::string& key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

/// Data and network: what a method is given to do.
bool is_of_the_task(const std::string& key) {
  using Topic = ConfigField::Topic;
  const auto& fields = config_fields();
  return std::any_of(fields.begin(), fields.end(), [&](const ConfigField& field) {
    return field.key == key && (field.topic == Topic::kData || field.topic == Topic::kNetwork);
  });
}

/// The keys that make the axes of a comparison, and those that differ and follow from them.
struct DifferingKeys {
  std::vector<std::string> axes;
  std::vector<std::string> following;
};

DifferingKeys find_differing_keys(const std::vector<Config>& configs) {
  std::vector<std::string> candidates = kMostTelling;
  for (const Config& config : configs) {
    for (const auto& [key, value] : config) {
      if (!has(candidates, key)) candidates.push_back(key);
    }
  }
  std::erase(candidates, "method");
  // A task never follows from a method, or methods would be compared at different tasks.
  std::stable_partition(candidates.begin(), candidates.end(), is_of_the_task);
  DifferingKeys keys;
  const bool has_methods = !determine(configs, {}, "method");
  for (const std::string& key : candidates) {
    if (determine(configs, {}, key)) continue;
    std::vector<std::string> known = keys.axes;
    if (has_methods && !is_of_the_task(key)) known.emplace_back("method");
    auto& kind = determine(configs, known, key) ? keys.following : keys.axes;
    kind.push_back(key);
  }
  // What is compared stands in the columns.
  if (has_methods || keys.axes.empty() || has(kTested, keys.axes.back())) keys.axes.emplace_back("method");
  return keys;
}

/// Numbers by size, words by the alphabet.
bool is_before(const std::string& a, const std::string& b) {
  try {
    return parse_number(a, "") < parse_number(b, "");
  } catch (const Error&) {
    return a < b;
  }
}

}  // namespace

std::vector<fs::path> find_runs(const std::vector<fs::path>& paths) {
  std::vector<fs::path> runs;
  for (const fs::path& path : paths) {
    if (!fs::is_directory(path))
      throw Error("not a directory",
                  {path.string(), "", "name run directories, or directories that hold some"});
    const size_t before = runs.size();
    if (RunLayout{path}.holds_run()) {
      runs.push_back(path);
      continue;
    }
    for (const auto& entry : fs::recursive_directory_iterator(path)) {
      if (entry.is_directory() && RunLayout{entry.path()}.holds_run()) runs.push_back(entry.path());
    }
    if (runs.size() == before) {
      throw Error("there is no run here", {path.string(), "", "a run directory has a status.json"});
    }
  }
  std::sort(runs.begin(), runs.end());
  runs.erase(std::unique(runs.begin(), runs.end()), runs.end());
  return runs;
}

Comparison arrange_runs(const std::vector<fs::path>& directories) {
  Comparison comparison{.name = "runs"};
  const std::vector<FoundRun> runs = read_each_once(directories, comparison);
  comparison.title = fmt::format("{} run{}", runs.size(), runs.size() == 1 ? "" : "s");
  std::vector<Config> configs;
  for (const FoundRun& run : runs) configs.push_back(compared_keys(run.config));
  const auto [keys, following] = find_differing_keys(configs);
  if (!following.empty()) {
    comparison.notes.push_back(
        fmt::format("the runs also differ in {}, which follow{} from what the tables show",
                    join(following, ", "), following.size() == 1 ? "s" : ""));
  }
  for (const std::string& key : keys) shorten_values(configs, key);
  for (const std::string& key : keys) {
    std::set<std::string> values;
    for (const Config& config : configs) values.insert(value_of_key(config, key));
    ComparedAxis axis{key, {values.begin(), values.end()}};
    std::sort(axis.labels.begin(), axis.labels.end(), is_before);
    comparison.axes.push_back(std::move(axis));
  }
  std::map<std::vector<std::string>, ComparedCell> cells;
  for (size_t i = 0; i < runs.size(); ++i) {
    std::vector<std::string> labels;
    for (const std::string& key : keys) labels.push_back(value_of_key(configs[i], key));
    ComparedCell& cell = cells[labels];
    cell.labels = labels;
    cell.runs.push_back({.id = runs[i].directory.filename().string(),
                         .seed = runs[i].config.seed,
                         .directory = runs[i].directory});
  }
  // In the order of the axes.
  std::vector<ComparedCell> sorted;
  for (auto& [labels, cell] : cells) sorted.push_back(std::move(cell));
  const auto place = [&](const ComparedCell& cell) {
    std::vector<std::ptrdiff_t> places;
    for (size_t a = 0; a < keys.size(); ++a) {
      const auto& labels = comparison.axes[a].labels;
      places.push_back(std::find(labels.begin(), labels.end(), cell.labels[a]) - labels.begin());
    }
    return places;
  };
  std::sort(sorted.begin(), sorted.end(),
            [&](const ComparedCell& a, const ComparedCell& b) { return place(a) < place(b); });
  comparison.cells = std::move(sorted);
  return comparison;
}

}  // namespace batchplus
