#include "report/arrange.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "config/config_fields.h"
#include "config/config_toml.h"
#include "util/error.h"
#include "util/file.h"
#include "util/text.h"

namespace batchplus {
namespace fs = std::filesystem;
namespace {

using Config = std::map<std::string, std::string>;

/// What reads best first is tried first when several keys differ together.
const std::vector<std::string> kMostTelling = {"method", "model",       "dataset",
                                               "lr",     "inner_batch", "outer_batch"};

RunConfig config_of(const fs::path& run) {
  const RunLayout layout{run};
  return parse_run_config(read_config(layout), layout.config().string());
}

/// What decides the result, key by key, but for the seed.
Config compared_keys(const RunConfig& config) {
  Config keys;
  for (const ConfigField& field : config_fields()) {
    if (field.decides_result && field.key != "seed") keys[field.key] = field.get(config);
  }
  return keys;
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
  std::vector<int64_t> seeds;
  for (const fs::path& run : runs) {
    const RunConfig config = config_of(run);
    configs.push_back(compared_keys(config));
    seeds.push_back(config.seed);
  }
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
    cell.runs.push_back(
        {.id = runs[i].filename().string(), .seed = seeds[i], .directory = runs[i], .record = std::nullopt});
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
