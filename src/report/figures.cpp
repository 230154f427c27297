#include "report/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "util/error.h"
#include "util/file.h"
#include "util/process.h"
#include "util/table.h"
#include "util/text.h"

namespace batchplus {
namespace fs = std::filesystem;
namespace {

/// Told apart by colour-blind readers too; page/style.css has the same ones.
constexpr std::array kColours = {"#0f4396", "#c2421d", "#169b84", "#ad5fb5", "#c4820f",
                                 "#3a8ce0", "#5d4a86", "#671f0c", "#1f3a47", "#2f7d46"};

const char* colour(size_t index) {
  return kColours[index % kColours.size()];
}

/// A gnuplot string.
std::string gnuplot_text(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result.append(c == '\'' ? 2 : 1, c);
  return result + "'";
}

/// A picture's data, and the gnuplot commands that draw it into the current terminal.
struct Picture {
  std::string name;
  std::string data;
  std::string commands;
};

std::string axes_commands(const std::string& title, const std::string& x, const std::string& y) {
  return fmt::format("set title {}\nset xlabel {}\nset ylabel {}\n", gnuplot_text(title), gnuplot_text(x),
                     gnuplot_text(y));
}

/// Room below the picture for the rows of the legend, which are as many as the widest name makes them.
std::string legend_commands(const std::vector<std::string>& titles) {
  // Of the font, in a picture of the usual width; a line's sample stands before each name.
  constexpr size_t kLettersInRow = 66;
  constexpr size_t kSample = 9;
  size_t widest = 0;
  for (const std::string& title : titles) widest = std::max(widest, title.size());
  const size_t in_row = std::max<size_t>(1, kLettersInRow / (widest + kSample));
  const size_t rows = (titles.size() + in_row - 1) / in_row;
  constexpr size_t kAxis = 4;
  return fmt::format("set bmargin {}\n", kAxis + std::max<size_t>(1, rows));
}

/// ", moving average over 5 points", if it is one.
std::string describe_smoothing(const ReportOptions& options) {
  return options.smooth > 1 ? fmt::format(", moving average over {} points", options.smooth) : "";
}

Picture picture_of(const Panel& panel, const ReportOptions& options) {
  Picture picture{.name = panel.name, .data = "", .commands = ""};
  // A band that reaches zero ends at the smallest mean where the axis is logarithmic.
  double least = 0;
  bool is_log = panel.quantity.is_log;
  for (const Curve& curve : panel.curves) {
    for (const double mean : curve.mean) {
      if (mean <= 0) is_log = false;
      least = least == 0 ? mean : std::min(least, mean);
    }
  }
  std::vector<std::string> bands;
  std::vector<std::string> lines;
  std::vector<std::string> titles;
  size_t block = 0;
  for (const Curve& curve : panel.curves) {
    std::string title = curve.name;
    if (curve.diverged > 0)
      title += fmt::format(" ({} of {} diverged)", curve.diverged, curve.diverged + curve.n);
    titles.push_back(title);
    if (curve.mean.empty()) {
      lines.push_back(
          fmt::format("NaN with lines lw 2 lc rgb '{}' title {}", colour(curve.index), gnuplot_text(title)));
      continue;
    }
    const auto place = curve.x.find(options.x);
    if (place == curve.x.end()) {
      throw Error(
          "no record has a value on the x axis",
          {"x", options.x,
           fmt::format("see {} of {}; train-loss needs the metric group gaps", panel.name, curve.name)});
    }
    const std::vector<double>& x = place->second;
    const auto smoothed = [&](std::vector<double> values) {
      // Points that are not drawn do not count.
      for (size_t i = 0; i < values.size(); ++i) {
        if (!std::isfinite(x[i])) values[i] = x[i];
      }
      return moving_average(values, options.smooth);
    };
    const auto mean = smoothed(curve.mean);
    const auto std = smoothed(curve.std);
    picture.data +=
        fmt::format("# {}: {}, mean, low, high{}\n", curve.name, options.x, describe_smoothing(options));
    for (size_t i = 0; i < mean.size(); ++i) {
      if (!std::isfinite(x[i])) continue;
      const double spread = std.empty() ? 0 : std[i];
      double low = mean[i] - spread;
      if (is_log && low < least) low = least;
      picture.data += fmt::format("{}\t{}\t{}\t{}\n", format_number(x[i]), format_number(mean[i]),
                                  format_number(low), format_number(mean[i] + spread));
    }
    picture.data += "\n\n";
    const std::string from = fmt::format("{} index {}", gnuplot_text(panel.name + ".tsv"), block++);
    if (!std.empty()) {
      bands.push_back(
          fmt::format("{} using 1:3:4 with filledcurves lc rgb '{}' notitle", from, colour(curve.index)));
    }
    constexpr size_t kMostMarked = 30;
    lines.push_back(fmt::format("{} using 1:2 with {} lw 2 lc rgb '{}' title {}", from,
                                mean.size() <= kMostMarked ? "linespoints pt 7 ps 0.4" : "lines",
                                colour(curve.index), gnuplot_text(title)));
  }
  bands.insert(bands.end(), lines.begin(), lines.end());
  picture.commands =
      axes_commands(panel.title, find_row(x_axes(), options.x, "x axis", "x").label,
                    panel.quantity.label + describe_smoothing(options)) +
      legend_commands(titles) +
      fmt::format("{} logscale y\nplot {}\n", is_log ? "set" : "unset", join(bands, ", \\\n     "));
  return picture;
}

Picture picture_of(const MetricGap& gap, const std::vector<std::string>& columns) {
  Picture picture{.name = fmt::format("{}-{}", gap.metric.name, gap.gap.name), .data = "", .commands = ""};
  std::vector<std::string> parts;
  std::vector<std::string> titles;
  size_t block = 0;
  for (size_t column = 0; column < columns.size(); ++column) {
    std::string data;
    for (const auto& point : gap.points) {
      if (point.column == column)
        data += fmt::format("{}\t{}\n", format_number(point.metric), format_number(point.gap));
    }
    if (data.empty()) continue;
    titles.push_back(columns[column]);
    picture.data += fmt::format("# {}\n{}\n\n", columns[column], data);
    parts.push_back(fmt::format("{} index {} with points pt 7 ps 0.8 lc rgb '{}' title {}",
                                gnuplot_text(picture.name + ".tsv"), block++, colour(column),
                                gnuplot_text(columns[column])));
  }
  const RankCorrelation& correlation = gap.correlation;
  const std::string title = correlation.tau ? fmt::format("Kendall's tau {:.2f}, p = {:.2g}, n = {}",
                                                          *correlation.tau, *correlation.p, correlation.n)
                                            : "too few runs";
  picture.commands =
      axes_commands(title, gap.metric.label, gap.gap.label) + legend_commands(titles) +
      fmt::format("{} logscale x\nplot {}\n", gap.is_log() ? "set" : "unset", join(parts, ", \\\n     "));
  return picture;
}

/// Into each of the three formats, `columns` times `rows` pictures of the usual size.
std::string script_of(const std::string& name, const std::string& body, size_t columns, size_t rows) {
  const std::string style =
      "set key bmargin center horizontal reverse Left samplen 2\n"
      "set xlabel offset 0,0.4\nset tics nomirror\n"
      "set grid xtics ytics lt 1 lw 0.5 lc rgb '#e4e4e4'\nset border 3 lc rgb '#555555'\n"
      "set style fill transparent solid 0.18 noborder\n";
  std::string script;
  const auto add = [&](const std::string& terminal, const std::string& ending) {
    script += fmt::format("set terminal {}\nset output {}\n{}{}unset output\n", terminal,
                          gnuplot_text(name + ending), style, body);
  };
  constexpr size_t kWidth = 620;
  constexpr size_t kHeight = 420;
  constexpr double kInches = 100;
  const size_t width = kWidth * columns;
  const size_t height = kHeight * rows;
  add(fmt::format("svg noenhanced size {},{} font 'DejaVu Sans,12' background '#ffffff'", width, height),
      ".svg");
  add(fmt::format("pdfcairo noenhanced size {:.2f}in,{:.2f}in font 'DejaVu Sans,10'",
                  static_cast<double>(width) / kInches, static_cast<double>(height) / kInches),
      ".pdf");
  add(fmt::format("pngcairo noenhanced size {},{} font 'DejaVu Sans,12'", width, height), ".png");
  return script;
}

void draw(const std::string& name, const std::string& script, const fs::path& directory) {
  write_file_atomically(directory / (name + ".gp"), script);
  const ProcessResult drawn = run_process({"gnuplot", name + ".gp"}, directory);
  constexpr int kNoSuchProgram = 127;
  if (drawn.exit_code == 0) return;
  throw Error(drawn.exit_code == kNoSuchProgram ? "gnuplot is not installed" : "gnuplot failed",
              {name + ".gp", drawn.output, "install gnuplot-nox, or leave figures out with {no_figures}"},
              Error::kFailure);
}

/// As many columns as make the whole about twice as wide as high.
size_t columns_for(size_t count) {
  return std::max<size_t>(1, static_cast<size_t>(std::lround(std::sqrt(static_cast<double>(count) * 1.4))));
}

std::vector<std::string> draw_all(const std::vector<Picture>& pictures, const std::string& together,
                                  const fs::path& directory) {
  std::vector<std::string> names;
  std::string all;
  for (const Picture& picture : pictures) {
    write_file_atomically(directory / (picture.name + ".tsv"), picture.data);
    draw(picture.name, script_of(picture.name, picture.commands, 1, 1), directory);
    names.push_back(picture.name);
    all += picture.commands;
  }
  if (pictures.size() < 2) return names;
  const size_t columns = columns_for(pictures.size());
  const size_t rows = (pictures.size() + columns - 1) / columns;
  const std::string body = fmt::format("set multiplot layout {},{}\n{}unset multiplot\n", rows, columns, all);
  draw(together, script_of(together, body, columns, rows), directory);
  names.insert(names.begin(), together);
  return names;
}

}  // namespace

std::vector<std::string> draw_figures(const std::vector<Panel>& panels, const std::vector<MetricGap>& gaps,
                                      const std::vector<std::string>& columns, const ReportOptions& options,
                                      const fs::path& directory) {
  std::vector<Picture> curves;
  for (const Panel& panel : panels) curves.push_back(picture_of(panel, options));
  std::vector<Picture> scatters;
  for (const MetricGap& gap : gaps) scatters.push_back(picture_of(gap, columns));
  std::vector<std::string> names = draw_all(curves, "figure", directory);
  for (std::string& name : draw_all(scatters, "metrics-and-gaps", directory))
    names.push_back(std::move(name));
  return names;
}

}  // namespace batchplus
