#include "report/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/page_assets.h"
#include "report/table_parts.h"
#include "util/text.h"

namespace batchplus {
namespace fs = std::filesystem;
namespace {

Json json_numbers(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(std::isfinite(value) ? Json(value) : Json());
  return list;
}

Json json_of(const Panel& panel) {
  Json curves = Json::array();
  for (const Curve& curve : panel.curves) {
    Json one = {{"series", curve.index},
                {"name", curve.name},
                {"n", curve.n},
                {"diverged", curve.diverged},
                {"mean", json_numbers(curve.mean)}};
    for (const auto& [axis, values] : curve.x) one[axis] = json_numbers(values);
    if (!curve.std.empty()) one["std"] = json_numbers(curve.std);
    const bool is_whole =
        std::all_of(curve.counts.begin(), curve.counts.end(), [&](size_t count) { return count == curve.n; });
    if (!is_whole) one["counts"] = curve.counts;
    curves.push_back(std::move(one));
  }
  return {{"title", panel.title},
          {"label", panel.quantity.label},
          {"is_log", panel.quantity.is_log},
          {"series", std::move(curves)}};
}

Json json_of(const MetricGap& gap) {
  Json points = Json::array();
  for (const auto& point : gap.points) {
    points.push_back({{"x", point.metric}, {"y", point.gap}, {"series", point.column}, {"name", point.name}});
  }
  const RankCorrelation& correlation = gap.correlation;
  return {{"metric", gap.metric.label},
          {"gap", gap.gap.label},
          {"tau", correlation.tau ? Json(*correlation.tau) : Json()},
          {"p", correlation.p ? Json(*correlation.p) : Json()},
          {"n", correlation.n},
          {"is_log_x", gap.is_log()},
          {"points", std::move(points)}};
}

bool is_on_all_curves(const XAxis& axis, const std::vector<Panel>& panels) {
  return std::all_of(panels.begin(), panels.end(), [&](const Panel& panel) {
    return std::all_of(panel.curves.begin(), panel.curves.end(),
                       [&](const Curve& curve) { return curve.mean.empty() || curve.x.contains(axis.name); });
  });
}

}  // namespace

Json page_data(const ReportContent& content) {
  Json panels = Json::array();
  for (const Panel& panel : content.panels) panels.push_back(json_of(panel));
  Json scatters = Json::array();
  for (const MetricGap& gap : content.gaps) scatters.push_back(json_of(gap));
  const Comparison& comparison = content.comparison;
  Json x_labels;
  for (const XAxis& axis : x_axes()) {
    if (is_on_all_curves(axis, content.panels)) x_labels[axis.name] = axis.label;
  }
  return {{"series", comparison.columns().labels}, {"x_axis", comparison.options.x},
          {"smooth", comparison.options.smooth},   {"x_labels", std::move(x_labels)},
          {"panels", std::move(panels)},           {"scatters", std::move(scatters)}};
}

std::string tables_html(const ReportContent& content) {
  std::string html;
  for (const Table& table : content.tables) html += to_html(table);
  return html;
}

std::string notes_html(const Comparison& comparison) {
  std::string html;
  if (!comparison.scale_note.empty()) {
    html += fmt::format("<p class=\"notice\"><b>Scale {}</b>: {}</p>\n", escape_html(comparison.scale),
                        escape_html(comparison.scale_note));
  }
  for (const std::string& note : comparison.notes)
    html += fmt::format("<p class=\"notice\"><b>Note</b>: {}</p>\n", escape_html(note));
  return html;
}

namespace {

/// A document around what is between head and scripts.
std::string page_frame(const std::string& title, const std::string& style, const std::string& body,
                       const Json& data, const std::string& script) {
  // A script element ends at the first "</", wherever it is.
  std::string text;
  for (const char c : data.dump()) c == '<' ? text += "\\u003c" : text += c;
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\"><title>{}</title>\n{}</head>\n{}<script "
      "type=\"application/json\" id=\"data\">{}</script>\n{}</body></html>\n",
      escape_html(title), style, body, text, script);
}

std::string figures_section(const std::string& note, const std::string& no_script) {
  return fmt::format(
      "<section id=\"figures\"><h2>Figures</h2><p class=\"note\">Mean over seeds; the band is one standard "
      "deviation.{}</p><div id=\"charts\"></div><noscript><p>The figures here need "
      "JavaScript{}.</p></noscript></section>\n",
      note, no_script);
}

std::string metrics_section() {
  return "<section id=\"metrics\"><h2>Metrics and gaps</h2><p class=\"note\">Each metric at the end of "
         "training against the measured gap, a dot for every run. Kendall's tau is 1 where the metric ranks "
         "the runs as the gap does, and near 0 where it says nothing.</p><div "
         "id=\"scatter\"></div></section>\n";
}

std::string header_of(const ReportContent& content) {
  const Comparison& comparison = content.comparison;
  std::string facts;
  const auto fact = [&](const std::string& name, const std::string& value) {
    if (value.empty()) return;
    facts += fmt::format("<span class=\"fact\"><b>{}</b> {}</span> ", name, escape_html(value));
  };
  fact("scale", comparison.scale);
  fact("runs", describe_runs(comparison));
  for (const auto& [key, values] : content.provenance) {
    if (key == "commit") fact(key, join(values, ", "));
  }
  fact("made", content.made);
  return fmt::format(
      "<header><p class=\"kind\">BatchPlus report</p><h1>{}</h1><p class=\"facts\">{}</p></header>\n",
      escape_html(comparison.title), facts);
}

std::string optional_number(const std::optional<double>& value, int digits) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "-";
}

/// A cell's runs, each with what came of it and its complete config.
std::string runs_of(const Comparison& comparison, const ComparedCell& cell, const fs::path& directory) {
  const ReportedQuantity& quantity = find_quantity(comparison.options.tables.front(), "tables");
  std::string label = join(cell.labels, " · ");
  if (!cell.choice.empty()) label += fmt::format(" · {} {}", comparison.choice_key, cell.choice);
  std::string text = fmt::format(
      "<details class=\"cell\" id=\"{}\"><summary><span class=\"label\">{}</span> <span "
      "class=\"value\">{}</span></summary>\n<div class=\"wide\"><table "
      "class=\"plain\"><thead><tr><th>seed</th><th>status</th>"
      "<th class=\"number\">final</th><th class=\"number\">best</th><th class=\"number\">evaluations</th><th "
      "class=\"number\">"
      "seconds</th><th>run</th></tr></thead><tbody>\n",
      anchor_of(comparison, cell), escape_html(label),
      escape_html(
          format_summary(summarize(final_values(cell, quantity.name).values), quantity.digits, cell)));
  std::string configs;
  for (const ComparedRun& run : cell.runs) {
    if (!run.record) {
      text += fmt::format(
          "<tr><td>{}</td><td class=\"missing\">{}</td><td class=\"number\">-</td><td "
          "class=\"number\">-"
          "</td><td class=\"number\">-</td><td class=\"number\">-</td><td>{}</td></tr>\n",
          run.seed, run.why_left_out.empty() ? "not finished" : "left out", escape_html(run.id));
      continue;
    }
    const StoredRun& record = *run.record;
    text += fmt::format(
        "<tr><td>{}</td><td{}>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td "
        "class=\"number\">{}</td>"
        "<td class=\"number\">{}</td><td><a href=\"{}\">{}</a></td></tr>\n",
        run.seed, run.is_diverged() ? " class=\"diverged\"" : "", run.is_diverged() ? "diverged" : "done",
        optional_number(final_value(record, quantity.name), quantity.digits),
        optional_number(best_value(record, quantity), quantity.digits),
        optional_number(value_of(record.status, "gradient_evaluations"), 0),
        optional_number(value_of(record.status, "seconds"), 1),
        escape_html(fs::proximate(run.directory, directory).string() + "/"), escape_html(run.id));
    configs += fmt::format(
        "<details class=\"config\"><summary>config of seed {} (run {})</summary><pre>{}</pre></details>\n",
        run.seed, escape_html(run.id), escape_html(record.config_toml));
  }
  return text + "</tbody></table></div>\n" + configs + "</details>\n";
}

std::string provenance_of(const ReportContent& content) {
  std::string text =
      "<section id=\"provenance\"><h2>Provenance</h2>\n<div class=\"wide\"><table class=\"plain\"><tbody>\n";
  for (const auto& [key, values] : content.provenance) {
    text +=
        fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", escape_html(key), escape_html(join(values, "; ")));
  }
  return text + "</tbody></table></div></section>\n";
}

}  // namespace

std::string describe_runs(const Comparison& comparison) {
  size_t all = 0;
  size_t done = 0;
  size_t diverged = 0;
  size_t left_out = 0;
  for (const auto* cells : {&comparison.cells, &comparison.not_chosen}) {
    for (const ComparedCell& cell : *cells) {
      all += cell.runs.size();
      done += cell.count_done();
      diverged += cell.count_diverged();
      left_out += cell.count_left_out();
    }
  }
  std::string text = fmt::format("{} of {} done", done, all);
  if (diverged > 0) text += fmt::format(", {} diverged", diverged);
  if (left_out > 0) text += fmt::format(", {} left out", left_out);
  const size_t missing = all - done - diverged - left_out;
  if (missing > 0) text += fmt::format(", {} missing", missing);
  return text;
}

std::string make_page(const ReportContent& content, const fs::path& directory) {
  const Comparison& comparison = content.comparison;
  std::string body = "<body>\n" + header_of(content);
  body +=
      "<nav><a href=\"#tables\">Tables</a><a href=\"#figures\">Figures</a><a href=\"#metrics\">Metrics and "
      "gaps</a>"
      "<a href=\"#runs\">Runs</a><a href=\"#provenance\">Provenance</a></nav>\n<main>\n";
  body += notes_html(comparison);
  body += "<section id=\"tables\"><h2>Tables</h2>\n" + tables_html(content) + "</section>\n";
  body +=
      figures_section(content.has_figure_files ? " As files: <a href=\"figures/\">SVG, PDF and PNG</a>." : "",
                      content.has_figure_files ? "; the files do not" : "");
  body += metrics_section() + "<section id=\"runs\"><h2>Runs</h2>\n";
  for (const ComparedCell& cell : comparison.cells) body += runs_of(comparison, cell, directory);
  if (!comparison.not_chosen.empty()) {
    body += fmt::format("<h3>Tried, and not chosen by {}</h3>\n", escape_html(comparison.choice_by));
  }
  for (const ComparedCell& cell : comparison.not_chosen) body += runs_of(comparison, cell, directory);
  body += "</section>\n" + provenance_of(content) + "</main>\n";
  return page_frame(comparison.title, fmt::format("<style>\n{}</style>", kPageStyle), body,
                    page_data(content), fmt::format("<script>\n{}</script>\n", kPageScript));
}

std::string make_live_page(const std::string& title) {
  const std::string body = fmt::format(
      "<body data-live>\n<header><p class=\"kind\">BatchPlus watch <span id=\"link\" "
      "role=\"status\"></span></p><h1 id=\"title\">{}</h1><p class=\"facts\" id=\"facts\"></p></header>\n"
      "<nav><a href=\"#progress\">Progress</a><a href=\"#runs\">Runs</a><a href=\"#figures\">Figures</a><a "
      "href=\"#metrics\">Metrics and gaps</a><a href=\"#tables\">Tables</a></nav>\n<main>\n"
      "<div id=\"alerts\"></div><div id=\"notes\"></div>\n"
      "<section id=\"progress\"><h2>Progress</h2><div id=\"matrix\"></div></section>\n"
      "<section id=\"runs\"><h2>Runs</h2><div id=\"list\"></div><div id=\"detail\"></div><noscript><p>This "
      "page needs JavaScript.</p></noscript></section>\n"
      "{}{}<section id=\"tables\"><h2>Tables</h2><div id=\"results\"></div></section>\n</main>\n",
      escape_html(title), figures_section("", ""), metrics_section());
  return page_frame(title, "<link rel=\"icon\" href=\"data:,\"><link rel=\"stylesheet\" href=\"page.css\">",
                    body, Json::object(), "<script src=\"page.js\"></script>\n");
}

}  // namespace batchplus
