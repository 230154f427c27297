#include "report/arrange.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <map>
#include <set>

#include "util/error.h"
#include "util/file.h"
#include "util/text.h"

namespace batchplus {
namespace fs = std::filesystem;
namespace {

using Config = std::map<std::string, std::string>;

/// Keys that say where a run is or how its memory is used, not what it computes.
const std::set<std::string> kNotCompared = {
    "seed", "out", "data_dir", "save_weights", "checkpoint_every", "metrics_memory", "snapshot_memory"};

/// What reads best first is tried first when several keys differ together.
const std::vector<std::string> kMostTelling = {"method", "model",       "dataset",
                                               "lr",     "inner_batch", "outer_batch"};

Config read_config(const fs::path& run) {
  const fs::path file = RunLayout{run}.config();
  // A run from before there was the choice was computed by libtorch.
  Config config = {{"kernels", "aten"}};
  try {
    for (const auto& [key, node] : toml::parse(read_file(file), file.string())) {
      std::string text;
      if (const auto* word = node.as_string()) text = word->get();
      if (const auto* number = node.as_integer()) text = std::to_string(number->get());
      if (const auto* number = node.as_floating_point()) text = format_number(number->get());
      config[std::string(key.str())] = text;
    }
  } catch (const toml::parse_error& problem) {
    throw Error("not valid TOML",
                {file.string(), std::string(problem.description()), "restore the file or remove the run"});
  }
  return config;
}

std::string value_of_key(const Config& config, const std::string& key) {
  const auto found = config.find(key);
  return found == config.end() || found->second.empty() ? "unset" : found->second;
}

/// Whether runs with the same value of `a` always have the same value of `b`.
bool determines(const std::vector<Config>& configs, const std::string& a, const std::string& b) {
  std::map<std::string, std::string> seen;
  return std::all_of(configs.begin(), configs.end(), [&](const Config& config) {
    const auto [entry, is_new] = seen.try_emplace(value_of_key(config, a), value_of_key(config, b));
    return is_new || entry->second == value_of_key(config, b);
  });
}

std::vector<std::string> differing_keys(const std::vector<Config>& configs) {
  std::vector<std::string> candidates = kMostTelling;
  std::set<std::string> others;
  for (const Config& config : configs) {
    for (const auto& [key, value] : config) others.insert(key);
  }
  for (const std::string& key : others) {
    if (std::find(candidates.begin(), candidates.end(), key) == candidates.end()) candidates.push_back(key);
  }
  std::vector<std::string> keys;
  for (const std::string& key : candidates) {
    if (kNotCompared.contains(key)) continue;
    const bool is_same = determines(configs, /*nothing has it*/ "", key);
    const bool follows = std::any_of(
        keys.begin(), keys.end(), [&](const std::string& other) { return determines(configs, other, key); });
    if (!is_same && !follows) keys.push_back(key);
  }
  if (keys.empty()) keys.emplace_back("method");
  // What is compared stands in the columns.
  const auto method = std::find(keys.begin(), keys.end(), "method");
  if (method != keys.end()) std::rotate(method, method + 1, keys.end());
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
      throw Error("not a directory", {"report", path.string(), "name a spec, or directories with runs"});
    const size_t before = runs.size();
    if (fs::exists(RunLayout{path}.status())) {
      runs.push_back(path);
      continue;
    }
    for (const auto& entry : fs::recursive_directory_iterator(path)) {
      if (entry.is_directory() && fs::exists(RunLayout{entry.path()}.status())) runs.push_back(entry.path());
    }
    if (runs.size() == before) {
      throw Error("there is no run here", {"report", path.string(), "a run directory has a status.json"});
    }
  }
  std::sort(runs.begin(), runs.end());
  runs.erase(std::unique(runs.begin(), runs.end()), runs.end());
  return runs;
}

Comparison arrange_runs(const std::vector<fs::path>& runs) {
  std::vector<Config> configs;
  for (const fs::path& run : runs) configs.push_back(read_config(run));
  const std::vector<std::string> keys = differing_keys(configs);
  Comparison comparison{.name = "runs", .title = fmt::format("{} runs", runs.size())};
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
    const std::string seed = value_of_key(configs[i], "seed");
    cell.runs.push_back({.id = runs[i].filename().string(),
                         .seed = seed == "unset" ? 0 : parse_integer(seed, "seed"),
                         .directory = runs[i],
                         .record = std::nullopt});
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
