#pragma once

#include <string>
#include <vector>

namespace batchplus {

struct TableCell {
  std::string text = {};
  bool is_bold = false;
  /// Smaller, below the text: a published number.
  std::string note = {};
  /// An anchor of the page, like cell-0-2. May be empty.
  std::string anchor = {};
  /// A class of the page's style: diverged or missing. May be empty.
  std::string style = {};
};

/// A table as every format shows it.
struct Table {
  /// For file names: test_accuracy.
  std::string name = {};
  std::string title = {};
  std::vector<std::string> header = {};
  /// The first so many columns are labels; the others are numbers, aligned to the right.
  size_t label_columns = 1;
  std::vector<std::vector<TableCell>> rows = {};
  /// What the numbers mean.
  std::string note = {};
};

std::string to_text(const Table& table);
/// `page` is where the anchors lead.
std::string to_markdown(const Table& table, const std::string& page);
/// A table environment for the booktabs package.
std::string to_latex(const Table& table);
std::string to_csv(const Table& table);
std::string to_html(const Table& table);

/// Text for Markdown, which nothing in it is then a mark of.
std::string escape_markdown(const std::string& text);

/// Text for HTML, outside and inside of quotes.
std::string escape_html(const std::string& text);

}  // namespace batchplus
