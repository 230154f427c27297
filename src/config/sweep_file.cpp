#include "config/sweep_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "util/error.h"
#include "util/file.h"
#include "util/own_checksum.h"
#include "util/table.h"

namespace batchplus {
namespace {

/// The format that this program writes and reads.
constexpr int kFormatVersion = 1;

Json cell_json(const SweepFile& sweep, const std::vector<std::string>& labels) {
  Json cell = Json::object();
  for (size_t a = 0; a < sweep.axes.size(); ++a) cell[sweep.axes[a].name] = labels.at(a);
  return cell;
}

std::vector<std::string> labels_in(const SweepFile& sweep, const Json& cell) {
  std::vector<std::string> labels;
  for (const SweepFile::Axis& axis : sweep.axes) labels.push_back(cell.at(axis.name));
  return labels;
}

/// The values that all runs share.
ConfigValues shared_config(const SweepFile& sweep) {
  ConfigValues shared = sweep.runs.empty() ? ConfigValues() : sweep.runs.front().config;
  for (const SweepFile::Run& run : sweep.runs) {
    std::erase_if(shared, [&](const auto& entry) {
      const auto same = run.config.find(entry.first);
      return same == run.config.end() || same->second != entry.second;
    });
  }
  return shared;
}

ReportOptions report_options(const Json& json) {
  const auto smooth = json.at("smooth").get<int64_t>();
  return {.tables = json.at("tables"),
          .curves = json.at("curves"),
          .x = json.at("x"),
          // Of an even number, which is refused by now, the odd one below it was drawn.
          .smooth = std::max<int64_t>(1, smooth % 2 == 0 ? smooth - 1 : smooth),
          // A sweep from before there was the key has none.
          .at_loss = json.value("at_loss", std::vector<double>{})};
}

SweepFile from_json(const Json& json) {
  SweepFile sweep{.name = json.at("name"),
                  .title = json.at("title"),
                  .scale = json.at("scale"),
                  .note = json.at("note"),
                  .settings = json.at("set")};
  if (json.contains("choice")) {
    sweep.choice_key = json["choice"].at("key");
    sweep.choice_by = json["choice"].at("by");
  }
  sweep.report = report_options(json.at("report"));
  for (const Json& axis : json.at("axes")) sweep.axes.push_back({axis.at("name"), axis.at("labels")});
  for (const Json& row : json.at("runs")) {
    SweepFile::Run run{row.at("id"), row.at("seed"), labels_in(sweep, row.at("cell"))};
    if (row.contains("choice")) {
      run.choice = row["choice"];
      run.decided_by = labels_in(sweep, row.at("decided_by"));
    }
    run.config = row.value("config", ConfigValues());
    run.config.merge(json.value("config", ConfigValues()));
    sweep.runs.push_back(std::move(run));
  }
  for (const Json& row : json.at("published")) {
    PublishedValue value{row.at("mean")};
    if (row.contains("std")) value.std = row["std"].get<double>();
    sweep.published.push_back({row.at("quantity"), labels_in(sweep, row.at("cell")), value});
  }
  return sweep;
}

}  // namespace

Json to_json(const SweepFile& sweep) {
  Json json = {{"format_version", kFormatVersion},
               {"name", sweep.name},
               {"title", sweep.title},
               {"scale", sweep.scale},
               {"note", sweep.note},
               {"set", sweep.settings}};
  if (!sweep.choice_key.empty()) json["choice"] = {{"key", sweep.choice_key}, {"by", sweep.choice_by}};
  json["report"] = {{"tables", sweep.report.tables},
                    {"curves", sweep.report.curves},
                    {"x", sweep.report.x},
                    {"smooth", sweep.report.smooth},
                    {"at_loss", sweep.report.at_loss}};
  json["axes"] = Json::array();
  for (const auto& [name, labels] : sweep.axes) json["axes"].push_back({{"name", name}, {"labels", labels}});
  const ConfigValues shared = shared_config(sweep);
  if (!shared.empty()) json["config"] = shared;
  json["runs"] = Json::array();
  for (const SweepFile::Run& run : sweep.runs) {
    Json row = {{"id", run.id}, {"seed", run.seed}, {"cell", cell_json(sweep, run.labels)}};
    if (!run.choice.empty()) {
      row["choice"] = run.choice;
      row["decided_by"] = cell_json(sweep, run.decided_by);
    }
    ConfigValues own = run.config;
    std::erase_if(own, [&](const auto& entry) { return shared.contains(entry.first); });
    if (!own.empty()) row["config"] = own;
    json["runs"].push_back(std::move(row));
  }
  json["published"] = Json::array();
  for (const auto& [quantity, labels, value] : sweep.published) {
    Json row = {{"quantity", quantity}, {"cell", cell_json(sweep, labels)}, {"mean", value.mean}};
    if (value.std) row["std"] = *value.std;
    json["published"].push_back(std::move(row));
  }
  add_own_checksum(json);
  return json;
}

const SweepFile::Run* find_run(const SweepFile& sweep, const std::string& id) {
  const auto found = std::find_if(sweep.runs.begin(), sweep.runs.end(),
                                  [&](const SweepFile::Run& run) { return run.id == id; });
  return found == sweep.runs.end() ? nullptr : &*found;
}

SweepFile read_sweep_file(const std::filesystem::path& path) {
  return parse_sweep_file(read_file(path), path.string());
}

SweepFile parse_sweep_file(const std::string& text, const std::string& where) {
  const char* hint = "'batchplus sweep SPEC' writes it anew; finished runs are not run again";
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) throw Error("not valid JSON", {where, "", hint});
  // Sweeps from before have no checksum.
  if (!take_own_checksum(json).value_or(true))
    throw Error("the file is not as it was written", {where, "its checksum is wrong", hint});
  try {
    const Json& version = json.at("format_version");
    if (version != kFormatVersion) {
      throw Error("the sweep has a format that this program does not know",
                  {where, version.dump(), "use a newer batchplus"});
    }
    SweepFile sweep = from_json(json);
    find_row(x_axes(), sweep.report.x, "x axis", where);
    return sweep;
  } catch (const Json::exception& problem) {
    throw Error("not the description of a sweep", {where, problem.what(), hint});
  }
}

}  // namespace batchplus
