#include "report/arrange.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "config/compare_configs.h"
#include "config/config_fields.h"
#include "config/config_toml.h"
#include "config/input_choice.h"
#include "report/mixed_inputs.h"
#include "store/lost_status.h"
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
  /// Digests of its inputs, if it has them.
  Json inputs = Json::object();
  /// What is wrong with its other files.
  std::optional<Error> damage = {};

  bool has_ended() const { return batchplus::has_ended(status); }
  bool has_result_of(const FoundRun& other) const {
    return status["status"] == other.status["status"] &&
           status.value(kWeightsChecksum, "") == other.status.value(kWeightsChecksum, "");
  }
  /// Whether both were given the same, as far as both say.
  bool has_inputs_of(const FoundRun& other) const {
    const auto& items = inputs.items();
    return std::all_of(items.begin(), items.end(), [&](const auto& entry) {
      return !other.inputs.contains(entry.key()) || other.inputs[entry.key()] == entry.value();
    });
  }
};

FoundRun find_run(const fs::path& directory) {
  const RunLayout layout{directory};
  FoundRun run{directory, parse_run_config(read_config(layout), layout.config().string()),
               read_status(layout)};
  try {
    if (run.has_ended()) run.inputs = inputs_of(read_run(directory).provenance);
  } catch (const Error& problem) {
    run.damage = problem;
  }
  return run;
}

/// Two runs with one config and seed that were given the same are one: the first stays, unless the other is
/// whole and it is not, or the other is further. A note says so.
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
  std::multimap<std::string, size_t> places;
  for (const fs::path& directory : directories) {
    std::optional<FoundRun> run;
    try {
      run = find_run(directory);
    } catch (const Error& problem) {
      note_damage(comparison, problem);
      continue;
    }
    const std::string id = config_id(run->config);
    const auto [first, last] = places.equal_range(id);
    const auto same =
        std::find_if(first, last, [&](const auto& place) { return runs[place.second].has_inputs_of(*run); });
    if (same != last) {
      join_runs(runs[same->second], std::move(*run), comparison);
    } else {
      places.emplace(id, runs.size());
      runs.push_back(std::move(*run));
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

/// How many letters all of these begin with, up to the end of a part like a folder or a number of a list.
size_t common_parts(const std::set<std::string>& texts) {
  if (texts.size() < 2) return 0;
  // Of sorted texts the first and the last have least in common.
  const std::string& first = *texts.begin();
  const std::string& last = *texts.rbegin();
  const auto differ = std::mismatch(first.begin(), first.end(), last.begin(), last.end()).first;
  const size_t separator = first.substr(0, static_cast<size_t>(differ - first.begin())).find_last_of("/,");
  return separator == std::string::npos ? 0 : separator;
}

/// Values as labels of a table: long ones, like paths, or means and deviations, are cut short to where they
/// differ from each other. What would be the same then stays whole.
void shorten_values(std::vector<Config>& configs, const std::string& key) {
  constexpr size_t kLongest = 24;
  const std::string dots = "...";
  std::set<std::string> long_values;
  std::map<std::string, int> uses;
  for (const Config& config : configs) {
    const std::string value = value_of_key(config, key);
    if (value.size() > kLongest) long_values.insert(value);
    uses[value] = 1;
  }
  const size_t begin = common_parts(long_values);
  std::map<std::string, std::string> labels;
  for (const std::string& value : long_values) {
    std::string label = begin > 0 ? dots + value.substr(begin) : value;
    if (label.size() > kLongest) label = label.substr(0, kLongest - dots.size()) + dots;
    ++uses[label];
    labels[value] = std::move(label);
  }
  for (Config& config : configs) {
    const auto label = labels.find(value_of_key(config, key));
    if (label != labels.end() && uses[label->second] == 1) config[key] = label->second;
  }
}

/// The end of a path, of so many parts.
std::string last_parts(const fs::path& path, size_t parts) {
  fs::path name = path.filename();
  fs::path above = path.parent_path();
  for (; parts > 1 && above.has_filename(); --parts, above = above.parent_path())
    name = above.filename() / name;
  return name.string();
}

/// The names of directories, with as many of the folders above them as tell them apart.
std::vector<std::string> distinct_names(const std::vector<FoundRun>& runs) {
  std::vector<std::string> names(runs.size());
  bool has_more = true;
  for (size_t parts = 1; has_more; ++parts) {
    std::map<std::string, int> uses;
    for (const FoundRun& run : runs) ++uses[last_parts(run.directory, parts)];
    has_more = false;
    for (size_t i = 0; i < runs.size(); ++i) {
      const std::string name = last_parts(runs[i].directory, parts);
      const bool is_whole = last_parts(runs[i].directory, parts + 1) == name;
      if (!names[i].empty() || (uses[name] > 1 && !is_whole)) {
        has_more |= names[i].empty();
      } else {
        names[i] = name;
      }
    }
  }
  return names;
}

/// Puts what runs were given beside their configs where it differs under one name. Returns the new keys.
std::vector<std::string> add_mixed_inputs(const std::vector<FoundRun>& runs, std::vector<Config>& configs) {
  std::vector<RunInputs> given;
  for (const FoundRun& run : runs) given.push_back({run.config, run.inputs});
  std::vector<std::string> keys;
  for (const std::string& input : find_mixed_inputs(given)) {
    keys.push_back(describe_input(input));
    for (size_t i = 0; i < runs.size(); ++i) {
      const Json digest = runs[i].inputs.value(input, Json());
      constexpr size_t kDigits = 8;
      configs[i][keys.back()] = digest.is_string() ? digest.get<std::string>().substr(0, kDigits) : "unknown";
    }
  }
  return keys;
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

bool is_run(const fs::path& directory) {
  const RunLayout layout{directory};
  return layout.holds_run() || has_lost_status(layout);
}

}  // namespace

std::vector<fs::path> find_runs_below(const fs::path& path) {
  if (!fs::is_directory(path))
    throw Error("not a directory",
                {path.string(), "", "name run directories, or directories that hold some"});
  std::vector<fs::path> runs;
  if (is_run(path)) runs.push_back(path);
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    if (entry.is_directory() && is_run(entry.path())) runs.push_back(entry.path());
  }
  if (runs.empty()) {
    throw Error("there is no run here", {path.string(), "", "a run directory has a status.json"});
  }
  std::sort(runs.begin(), runs.end());
  return runs;
}

std::vector<fs::path> find_runs(const std::vector<fs::path>& paths) {
  // One directory may have several names.
  std::map<fs::path, fs::path> found;
  for (const fs::path& path : paths) {
    // One that has only lost its status may yet hold others.
    const bool is_one = fs::is_directory(path) && RunLayout{path}.holds_run();
    std::vector<fs::path> here = is_one ? std::vector{path} : find_runs_below(path);
    // The name of a link comes last.
    std::stable_partition(here.begin(), here.end(), [](const fs::path& run) { return !fs::is_symlink(run); });
    for (const fs::path& run : here) found.emplace(fs::weakly_canonical(run), run);
  }
  std::vector<fs::path> runs;
  for (const auto& [place, run] : found) runs.push_back(run);
  std::sort(runs.begin(), runs.end());
  return runs;
}

Comparison arrange_runs(const std::vector<fs::path>& directories) {
  Comparison comparison{.name = "runs"};
  const std::vector<FoundRun> runs = read_each_once(directories, comparison);
  comparison.title = fmt::format("{} run{}", runs.size(), runs.size() == 1 ? "" : "s");
  std::vector<Config> configs;
  for (const FoundRun& run : runs) configs.push_back(compared_keys(run.config));
  auto [keys, following] = find_differing_keys(configs);
  if (!following.empty()) {
    comparison.notes.push_back(
        fmt::format("the runs also differ in {}, which follow{} from what the tables show",
                    join(following, ", "), following.size() == 1 ? "s" : ""));
  }
  for (const std::string& key : keys) shorten_values(configs, key);
  // What was given under one name is in rows of its own, so that nothing is compared between them.
  const std::vector<std::string> mixed = add_mixed_inputs(runs, configs);
  keys.insert(keys.end() - 1, mixed.begin(), mixed.end());
  const std::vector<std::string> names = distinct_names(runs);
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
    cell.runs.push_back({.id = names[i], .seed = runs[i].config.seed, .directory = runs[i].directory});
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
