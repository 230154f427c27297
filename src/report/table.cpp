#include "report/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "util/text.h"

namespace batchplus {
namespace {

/// Characters, not bytes, of UTF-8.
size_t width_of(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(),
                                           [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; }));
}

std::string padded(const std::string& text, size_t width, bool is_right) {
  const std::string space(width - std::min(width, width_of(text)), ' ');
  return is_right ? space + text : text + space;
}

std::string replace_all(std::string text, const std::vector<std::pair<std::string, std::string>>& changes) {
  std::string result;
  for (size_t i = 0; i < text.size();) {
    const auto change = std::find_if(changes.begin(), changes.end(), [&](const auto& candidate) {
      return text.compare(i, candidate.first.size(), candidate.first) == 0;
    });
    if (change == changes.end()) {
      result.push_back(text[i++]);
    } else {
      result += change->second;
      i += change->first.size();
    }
  }
  return result;
}

std::string escape_latex(const std::string& text) {
  static const std::vector<std::pair<std::string, std::string>> kChanges = {{"\\", "\\textbackslash{}"},
                                                                            {"&", "\\&"},
                                                                            {"%", "\\%"},
                                                                            {"#", "\\#"},
                                                                            {"_", "\\_"},
                                                                            {"$", "\\$"},
                                                                            {"{", "\\{"},
                                                                            {"}", "\\}"},
                                                                            {"~", "\\textasciitilde{}"},
                                                                            {"^", "\\^{}"},
                                                                            {"|", "\\textbar{}"},
                                                                            {"±", "$\\pm$"},
                                                                            {"−", "$-$"},
                                                                            {"‖", "$\\|$"},
                                                                            {"∇", "$\\nabla$"},
                                                                            {"²", "$^2$"},
                                                                            {"σ", "$\\sigma$"},
                                                                            {"φ", "$\\varphi$"},
                                                                            {"τ", "$\\tau$"},
                                                                            {"–", "--"},
                                                                            {"<", "$<$"},
                                                                            {">", "$>$"}};
  return replace_all(text, kChanges);
}

/// A field of a CSV line.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  return fmt::format("\"{}\"", replace_all(text, {{"\"", "\"\""}}));
}

bool has_notes(const std::vector<TableCell>& row) {
  return std::any_of(row.begin(), row.end(), [](const TableCell& cell) { return !cell.note.empty(); });
}

}  // namespace

std::string to_text(const Table& table) {
  std::vector<std::vector<std::string>> lines = {table.header};
  for (const auto& row : table.rows) {
    std::vector<std::string>& line = lines.emplace_back();
    for (const TableCell& cell : row) line.push_back(cell.is_bold ? "*" + cell.text : cell.text);
    if (!has_notes(row)) continue;
    std::vector<std::string>& notes = lines.emplace_back();
    for (const TableCell& cell : row) notes.push_back(cell.note);
  }
  std::vector<size_t> widths(table.header.size(), 0);
  for (const auto& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], width_of(line[i]));
  }
  std::string text = table.title + "\n\n";
  for (size_t l = 0; l < lines.size(); ++l) {
    std::vector<std::string> fields;
    for (size_t i = 0; i < lines[l].size(); ++i) {
      fields.push_back(padded(lines[l][i], widths[i], i >= table.label_columns));
    }
    std::string line = join(fields, "  ");
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
    if (l == 0) {
      const size_t all = std::accumulate(widths.begin(), widths.end(), 2 * (widths.size() - 1));
      text += std::string(all, '-') + "\n";
    }
  }
  return table.note.empty() ? text : text + "\n" + table.note + "\n";
}

std::string to_markdown(const Table& table, const std::string& page) {
  std::string text = fmt::format("### {}\n\n|", escape_markdown(table.title));
  for (const std::string& name : table.header) text += fmt::format(" {} |", escape_markdown(name));
  text += "\n|";
  for (size_t i = 0; i < table.header.size(); ++i) text += i < table.label_columns ? " --- |" : " ---: |";
  text += "\n";
  for (const auto& row : table.rows) {
    text += "|";
    for (const TableCell& cell : row) {
      std::string content = escape_markdown(cell.text);
      if (!cell.anchor.empty()) content = fmt::format("[{}]({}#{})", content, page, cell.anchor);
      if (cell.is_bold) content = fmt::format("**{}**", content);
      if (!cell.note.empty()) content += "<br>" + escape_markdown(cell.note);
      text += fmt::format(" {} |", content);
    }
    text += "\n";
  }
  return table.note.empty() ? text : text + "\n" + escape_markdown(table.note) + "\n";
}

std::string to_latex(const Table& table) {
  const auto row_of = [](const std::vector<std::string>& fields) {
    return "  " + join(fields, " & ") + " \\\\\n";
  };
  std::string columns(table.label_columns, 'l');
  columns += std::string(table.header.size() - table.label_columns, 'r');
  std::vector<std::string> header;
  for (const std::string& name : table.header) header.push_back(escape_latex(name));
  std::string text = fmt::format(
      "% needs \\usepackage{{booktabs}}\n\\begin{{table}}\n\\centering\n\\caption{{{}. "
      "{}}}\n\\label{{tab:{}}}\n"
      "\\begin{{tabular}}{{{}}}\n\\toprule\n{}\\midrule\n",
      escape_latex(table.title), escape_latex(table.note), table.name, columns, row_of(header));
  for (const auto& row : table.rows) {
    std::vector<std::string> fields;
    std::vector<std::string> notes;
    for (const TableCell& cell : row) {
      const std::string content = escape_latex(cell.text);
      fields.push_back(cell.is_bold ? fmt::format("\\textbf{{{}}}", content) : content);
      notes.push_back(cell.note.empty() ? "" : fmt::format("{{\\footnotesize {}}}", escape_latex(cell.note)));
    }
    text += row_of(fields);
    if (has_notes(row)) text += row_of(notes);
  }
  return text + "\\bottomrule\n\\end{tabular}\n\\end{table}\n";
}

std::string to_csv(const Table& table) {
  const auto line_of = [](const std::vector<std::string>& fields) {
    std::vector<std::string> quoted;
    for (const std::string& field : fields) quoted.push_back(csv_field(field));
    return join(quoted, ",") + "\n";
  };
  std::string text = line_of(table.header);
  for (const auto& row : table.rows) {
    std::vector<std::string> fields;
    for (const TableCell& cell : row) fields.push_back(cell.text);
    text += line_of(fields);
  }
  return text;
}

std::string to_html(const Table& table) {
  std::string text = fmt::format("<h3>{}</h3>\n<div class=\"wide\"><table class=\"results\"><thead><tr>",
                                 escape_html(table.title));
  for (size_t i = 0; i < table.header.size(); ++i) {
    text += fmt::format("<th{}>{}</th>", i < table.label_columns ? "" : " class=\"number\"",
                        escape_html(table.header[i]));
  }
  text += "</tr></thead><tbody>\n";
  for (const auto& row : table.rows) {
    text += "<tr>";
    for (size_t i = 0; i < row.size(); ++i) {
      const TableCell& cell = row[i];
      std::string content = escape_html(cell.text);
      if (!cell.anchor.empty()) content = fmt::format("<a href=\"#{}\">{}</a>", cell.anchor, content);
      if (!cell.note.empty()) {
        content += fmt::format("<span class=\"published\">{}</span>", escape_html(cell.note));
      }
      if (i < table.label_columns) {
        text += fmt::format("<th{}>{}</th>", cell.is_bold ? " class=\"best\"" : "", content);
        continue;
      }
      std::string style = "number";
      if (cell.is_bold) style += " best";
      if (!cell.style.empty()) style += " " + cell.style;
      text += fmt::format("<td class=\"{}\">{}</td>", style, content);
    }
    text += "</tr>\n";
  }
  text += "</tbody></table></div>\n";
  if (!table.note.empty()) text += fmt::format("<p class=\"note\">{}</p>\n", escape_html(table.note));
  return text;
}

std::string escape_html(const std::string& text) {
  return replace_all(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}});
}

std::string escape_markdown(const std::string& text) {
  return replace_all(text, {{"\\", "\\\\"},
                            {"|", "\\|"},
                            {"*", "\\*"},
                            {"_", "\\_"},
                            {"`", "\\`"},
                            {"[", "\\["},
                            {"]", "\\]"},
                            {"&", "&amp;"},
                            {"<", "&lt;"},
                            {"\n", " "}});
}

}  // namespace batchplus
