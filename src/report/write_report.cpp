#include "report/write_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/at_loss.h"
#include "report/content.h"
#include "report/figures.h"
#include "report/mixed_inputs.h"
#include "report/report_directory.h"
#include "report/result_tables.h"
#include "util/error.h"
#include "util/file.h"
#include "util/text.h"

namespace batchplus {
namespace fs = std::filesystem;
namespace {

constexpr const char* kFigures = "figures";

void require_a_finished_run(const Comparison& comparison) {
  size_t all = 0;
  size_t left_out = 0;
  for (const ComparedCell& cell : comparison.cells) {
    all += cell.runs.size();
    left_out += cell.count_left_out();
    if (cell.count_done() + cell.count_diverged() > 0) return;
  }
  std::vector<std::string> seen = {fmt::format("{} run{}", all, all == 1 ? "" : "s")};
  seen.insert(seen.end(), comparison.notes.begin(), comparison.notes.end());
  const bool is_sweep = !comparison.scale.empty();
  const std::string where =
      is_sweep ? comparison.name : comparison.cells.front().runs.front().directory.string();
  if (left_out > 0) {
    throw Error("no run that has finished can be read",
                {where, join(seen, "; "), "'batchplus check' says what is wrong with each"});
  }
  throw Error("no run has finished",
              {where, join(seen, "; "),
               is_sweep ? "run the sweep first" : "wait for it, or go on with it by {resume}"});
}

std::string make_markdown(const ReportContent& content, const std::vector<std::string>& figures) {
  const Comparison& comparison = content.comparison;
  std::string text = fmt::format("# {}\n\n", escape_markdown(comparison.title));
  if (!comparison.scale_note.empty()) {
    text += fmt::format("Scale **{}**: {}\n\n", escape_markdown(comparison.scale),
                        escape_markdown(comparison.scale_note));
  }
  text += fmt::format("Runs: {}. Made {}.\n\n", describe_runs(comparison), content.made);
  for (const std::string& note : comparison.notes)
    text += fmt::format("Note: {}.\n\n", escape_markdown(note));
  for (const Table& table : content.tables) text += to_markdown(table, "index.html") + "\n";
  for (const std::string& name : figures) text += fmt::format("![{}](figures/{}.svg)\n\n", name, name);
  return text;
}

/// Every table in every format, and the cells as plain numbers.
ReportFiles table_files(const ReportContent& content) {
  ReportFiles files;
  for (const Table& table : content.tables) {
    const std::string base = "tables/" + table.name;
    files[base + ".txt"] = to_text(table);
    files[base + ".md"] = to_markdown(table, "../index.html");
    files[base + ".tex"] = to_latex(table);
    files[base + ".csv"] = to_csv(table);
  }
  for (const std::string& name : content.comparison.options.tables) {
    files[fmt::format("tables/cells-{}.csv", name)] =
        cells_csv(content.comparison, find_quantity(name, "tables"));
  }
  return files;
}

/// Draws the figures aside and adds their files; the names of the pictures.
std::vector<std::string> add_figures(const ReportContent& content, const fs::path& directory,
                                     ReportFiles& files) {
  ScratchDirectory::remove_leftovers(directory);
  const ScratchDirectory aside(directory);
  const Comparison& comparison = content.comparison;
  std::vector<std::string> names = draw_figures(content.panels, content.gaps, comparison.columns().labels,
                                                comparison.options, aside.path());
  for (const auto& entry : fs::directory_iterator(aside.path())) {
    files[fmt::format("{}/{}", kFigures, entry.path().filename().string())] = read_file(entry.path());
  }
  return names;
}

Json summary_json(const Summary& summary) {
  Json json = {{"mean", summary.mean}, {"n", summary.n}};
  if (summary.std) json["std"] = *summary.std;
  return json;
}

/// A cell at each level of the training loss.
Json at_loss_json(const Comparison& comparison, const ComparedCell& cell) {
  std::vector<std::string> names = comparison.options.tables;
  const std::string cost = cost_of(comparison).quantity;
  names.push_back(cost);
  Json levels = Json::array();
  for (const double level : comparison.options.at_loss) {
    Json row = {{"loss", level}};
    for (const std::string& name : names) {
      const Summary summary = summarize(values_at_loss(cell, name, level).values);
      if (summary.n > 0) row[name] = summary_json(summary);
    }
    for (const char* reason : {"never", "below_from_the_start", "not_recorded"}) row[reason] = Json::array();
    for (const ComparedRun& run : cell.runs) {
      if (!run.is_done()) continue;
      switch (value_at_loss(*run.record, cost, level).outcome) {
        case AtLoss::Outcome::kReached: break;
        case AtLoss::Outcome::kNever: row["never"].push_back(run.id); break;
        case AtLoss::Outcome::kBelowFromTheStart: row["below_from_the_start"].push_back(run.id); break;
        case AtLoss::Outcome::kNotRecorded: row["not_recorded"].push_back(run.id); break;
      }
    }
    levels.push_back(std::move(row));
  }
  return levels;
}

Json cell_json(const Comparison& comparison, const ComparedCell& cell) {
  Json labels = Json::object();
  for (size_t i = 0; i < comparison.axes.size(); ++i) labels[comparison.axes[i].name] = cell.labels[i];
  Json json = {{"cell", std::move(labels)}};
  if (!cell.choice.empty()) json[comparison.choice_key] = cell.choice;
  json["done"] = cell.count_done();
  json["diverged"] = cell.count_diverged();
  json["missing"] = cell.count_missing();
  for (const std::string& name : comparison.options.tables) {
    const Summary summary = summarize(final_values(cell, name).values);
    if (summary.n == 0) continue;
    json[name] = summary_json(summary);
    if (const PublishedValue* published = cell.find_published(name))
      json[name]["published"] = published->mean;
  }
  if (const PublishedValue* published = cell.find_published("test_accuracy"))
    json["published"] = published->mean;
  if (!comparison.options.at_loss.empty()) json["at_loss"] = at_loss_json(comparison, cell);
  Json ids = Json::array();
  for (const ComparedRun& run : cell.runs) ids.push_back(run.id);
  json["runs"] = std::move(ids);
  return json;
}

}  // namespace

WrittenReport write_report(Comparison comparison, const fs::path& directory, bool has_figures) {
  for (const std::string& name : comparison.options.tables) find_quantity(name, "tables");
  require_place_for_report(directory);
  read_runs(comparison);
  leave_out_mixed_inputs(comparison);
  note_mixed_inputs(comparison);
  require_a_finished_run(comparison);
  ReportContent content = make_content(std::move(comparison));
  ReportDirectory place(directory);
  const bool keeps_figures = !has_figures && place.has_earlier(kFigures);
  if (keeps_figures) content.comparison.notes.emplace_back("figures/ has those of an earlier report");
  content.has_figure_files = has_figures || keeps_figures;
  const Comparison& settled = content.comparison;

  ReportFiles files = table_files(content);
  std::vector<std::string> figures;
  if (has_figures) figures = add_figures(content, directory, files);
  files["report.md"] = make_markdown(content, figures);
  files["index.html"] = make_page(content, directory);
  place.replace(files, keeps_figures ? kFigures : "");

  Json json = {{"title", settled.title},
               {"scale", settled.scale},
               {"runs", describe_runs(settled)},
               {"notes", settled.notes}};
  std::string text;
  Json table_names = Json::array();
  for (const Table& table : content.tables) {
    text += to_text(table) + "\n";
    table_names.push_back(table.name);
  }
  Json cells = Json::array();
  for (const ComparedCell& cell : settled.cells) cells.push_back(cell_json(settled, cell));
  json["cells"] = std::move(cells);
  json["tables"] = std::move(table_names);
  json["figures"] = figures;
  json["page"] = (directory / "index.html").string();
  return {std::move(content.comparison), std::move(text), std::move(json)};
}

}  // namespace batchplus
