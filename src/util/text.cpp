#include "util/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "util/error.h"

namespace batchplus {
namespace {

/// Insertions, deletions, substitutions and swaps of neighbours that turn one text into the other.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> distance(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) distance[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) distance[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = distance[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      distance[i][j] = std::min({substituted, distance[i - 1][j] + 1, distance[i][j - 1] + 1});
      const bool is_swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_swap) distance[i][j] = std::min(distance[i][j], distance[i - 2][j - 2] + 1);
    }
  }
  return distance[a.size()][b.size()];
}

std::string without_dashes(std::string_view text) {
  std::string letters(text);
  std::erase_if(letters, [](char c) { return c == '-' || c == '_'; });
  return letters;
}

/// The candidates that are nearest, the nearest first.
std::vector<std::string> nearest_few(std::string_view name, std::vector<std::string> candidates) {
  constexpr size_t kFew = 5;
  std::stable_sort(candidates.begin(), candidates.end(), [&](const std::string& a, const std::string& b) {
    return edit_distance(name, a) < edit_distance(name, b);
  });
  candidates.resize(std::min(kFew, candidates.size()));
  return candidates;
}

/// Parses all of `text`, or returns nothing. An Error when it is a number that no Number holds.
template <class Number>
std::optional<Number> read_whole(std::string_view text, const std::string& where) {
  const std::string_view written = text;
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  Number number{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = end == text.data() + text.size();
  if (problem == std::errc::result_out_of_range && is_whole) {
    throw Error("the number is too large or too small",
                {where, std::string(written), "give one that the program can count with"});
  }
  if (problem != std::errc{} || !is_whole) return std::nullopt;
  return number;
}

}  // namespace

std::optional<std::string> nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  // Dashes are what people forget first, so they count only between names that are equally near without them.
  using Distance = std::pair<size_t, size_t>;
  std::optional<std::string> best;
  Distance best_distance{std::max<size_t>(2, name.size() / 3), std::numeric_limits<size_t>::max()};
  for (const auto& candidate : candidates) {
    const Distance distance{edit_distance(without_dashes(name), without_dashes(candidate)),
                            edit_distance(name, candidate)};
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string suggest_name(std::string_view name, const std::vector<std::string>& candidates) {
  constexpr size_t kMostListed = 15;
  const auto nearest = nearest_name(name, candidates);
  if (candidates.size() > kMostListed) {
    if (nearest) return fmt::format("did you mean '{}'?", *nearest);
    return fmt::format("there are {}; the nearest are: {}", candidates.size(),
                       join(nearest_few(name, candidates), ", "));
  }
  const std::string all = "one of: " + join(candidates, ", ");
  return nearest ? fmt::format("did you mean '{}'? ({})", *nearest, all) : all;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (true) {
    const size_t end = text.find(separator, begin);
    parts.emplace_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

std::string name_keys(const std::string& text,
                      const std::function<std::string(const std::string& key)>& name_of) {
  std::string named;
  size_t at = 0;
  while (at < text.size()) {
    const size_t end =
        text[at] == '{' ? text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", at + 1) : std::string::npos;
    const bool is_key = end != std::string::npos && text[end] == '}' && end > at + 1;
    named += is_key ? name_of(text.substr(at + 1, end - at - 1)) : text.substr(at, 1);
    at = is_key ? end + 1 : at + 1;
  }
  return named;
}

double parse_number(std::string_view text, const std::string& where) {
  const auto number = read_whole<double>(text, where);
  if (!number) throw Error("not a number", {where, std::string(text), "write it like 0.1 or 5e-4"});
  return *number;
}

int64_t parse_integer(std::string_view text, const std::string& where) {
  const auto number = read_whole<int64_t>(text, where);
  if (!number) throw Error("not a whole number", {where, std::string(text), "write it like 128"});
  return *number;
}

int64_t parse_bytes(std::string_view text, const std::string& where) {
  const size_t unit_begin = text.find_first_not_of("0123456789.");
  const std::string_view digits = text.substr(0, unit_begin);
  std::string unit(unit_begin == std::string_view::npos ? "" : text.substr(unit_begin));
  if (unit.ends_with("iB")) unit.resize(unit.size() - 2);
  if (unit.ends_with("B")) unit.resize(unit.size() - 1);
  static constexpr std::string_view kUnits = "KMGT";
  const auto number = read_whole<double>(digits, where);
  const size_t power = unit.empty() ? 0 : kUnits.find(unit) + 1;
  const bool is_unit = unit.empty() || (unit.size() == 1 && kUnits.find(unit) != std::string_view::npos);
  const double bytes = number ? *number * std::pow(1024.0, static_cast<double>(power)) : 0;
  if (!number || !is_unit || bytes >= 9e18) {
    throw Error("not a size in bytes", {where, std::string(text), "write it like 512M or 2G"});
  }
  return static_cast<int64_t>(bytes);
}

std::string format_bytes(double bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

std::string format_duration(double seconds) {
  if (!(seconds < 1e8)) return "?";
  if (seconds < 10) return fmt::format("{:.1f}s", seconds);
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{}s", whole);
  if (whole < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  return fmt::format("{}h{:02}m", whole / 3600, whole % 3600 / 60);
}

std::string format_count(int64_t count) {
  std::string digits = std::to_string(count);
  const size_t first = digits.front() == '-' ? 1 : 0;
  for (size_t from_end = 3; digits.size() > first + from_end; from_end += 4) {
    digits.insert(digits.size() - from_end, 1, ',');
  }
  return digits;
}

std::string format_number(double number) {
  return fmt::format("{}", number);
}

}  // namespace batchplus
