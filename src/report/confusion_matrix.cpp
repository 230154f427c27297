#include "report/confusion_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "formats/canvas.h"

namespace batchplus {
namespace {

constexpr int kMargin = 16;
constexpr int kHeading = 28;
/// Numbers are written in the cells of up to so many classes.
constexpr size_t kMostNumbered = 25;
constexpr double kDarkest = 0.6;

/// White for nothing; blue on the diagonal and orange beside it, deeper with the share.
Color shade(double share, bool is_right) {
  // The square root shows rare confusions too.
  const double depth = std::sqrt(share);
  const Color full = is_right ? Color{0.11, 0.42, 0.66} : Color{0.85, 0.37, 0.01};
  return {1 - depth * (1 - full.red), 1 - depth * (1 - full.green), 1 - depth * (1 - full.blue)};
}

/// A name as a field of a CSV line.
std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string field(1, '"');
  for (const char c : text) field.append(c == '"' ? 2 : 1, c);
  field.push_back('"');
  return field;
}

}  // namespace

int64_t ConfusionMatrix::samples(size_t truth) const {
  int64_t sum = 0;
  for (size_t prediction = 0; prediction < classes.size(); ++prediction) sum += at(truth, prediction);
  return sum;
}

double ConfusionMatrix::accuracy(size_t truth) const {
  const int64_t all = samples(truth);
  if (all == 0) return std::numeric_limits<double>::quiet_NaN();
  return 100.0 * static_cast<double>(at(truth, truth)) / static_cast<double>(all);
}

std::string to_csv(const ConfusionMatrix& matrix) {
  std::string csv = "true class";
  for (const auto& name : matrix.classes) csv += fmt::format(",{}", quoted(name));
  csv += "\n";
  for (size_t truth = 0; truth < matrix.classes.size(); ++truth) {
    csv += quoted(matrix.classes[truth]);
    for (size_t prediction = 0; prediction < matrix.classes.size(); ++prediction)
      csv += fmt::format(",{}", matrix.at(truth, prediction));
    csv += "\n";
  }
  return csv;
}

std::string draw(const ConfusionMatrix& matrix, const std::string& title) {
  const size_t n = matrix.classes.size();
  const bool is_numbered = n <= kMostNumbered;
  const int cell = is_numbered ? 46 : 15;
  double label_width = 0;
  for (const auto& name : matrix.classes) label_width = std::max(label_width, Canvas::text_width(name));
  const double font_size = is_numbered ? Canvas::kFontSize : 11;
  const double left = kMargin + label_width + 10;
  const double top = kMargin + kHeading + label_width + 10;
  const double accuracy_width = 60;
  const double side = cell * static_cast<double>(n);
  Canvas canvas(
      static_cast<int64_t>(std::max(left + side + accuracy_width, Canvas::text_width(title) * 1.2) + kMargin),
      static_cast<int64_t>(top + side + kMargin));
  canvas.text(kMargin, kMargin + Canvas::kFontSize, title, {.is_bold = true});
  for (size_t truth = 0; truth < n; ++truth) {
    const double y = top + static_cast<double>(truth) * cell;
    const double baseline = y + cell / 2.0 + font_size / 3;
    canvas.text(left - 8, baseline, matrix.classes[truth], {.alignment = 1, .size = font_size});
    canvas.text(left + static_cast<double>(truth) * cell + cell / 2.0 + font_size / 3, top - 8,
                matrix.classes[truth], {.is_vertical = true, .size = font_size});
    const double all = static_cast<double>(std::max<int64_t>(1, matrix.samples(truth)));
    for (size_t prediction = 0; prediction < n; ++prediction) {
      const double x = left + static_cast<double>(prediction) * cell;
      const double share = static_cast<double>(matrix.at(truth, prediction)) / all;
      canvas.rectangle(x, y, cell - 1, cell - 1, shade(share, truth == prediction));
      if (!is_numbered || matrix.at(truth, prediction) == 0) continue;
      const Color ink = std::sqrt(share) > kDarkest ? Canvas::kPaper : Canvas::kInk;
      canvas.text(x + (cell - 1) / 2.0, baseline, std::to_string(matrix.at(truth, prediction)),
                  {.alignment = 0.5, .size = 12, .color = ink});
    }
    canvas.text(left + side + 8, baseline, fmt::format("{:.1f} %", matrix.accuracy(truth)),
                {.size = font_size});
  }
  return canvas.png();
}

}  // namespace batchplus
