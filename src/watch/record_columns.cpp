#include "watch/record_columns.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace batchplus {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
/// A run that records every epoch has hundreds.
constexpr size_t kMostKept = 8192;
constexpr size_t kMostColumns = 128;
constexpr size_t kLongestKey = 100;

/// Collects the numbers of a record while it is parsed, without building it.
class NumbersOfRecord : public nlohmann::json_sax<Json> {
 public:
  std::vector<std::pair<std::string, double>> numbers;
  bool is_object = false;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override { return number(static_cast<double>(value)); }
  bool number_unsigned(number_unsigned_t value) override { return number(static_cast<double>(value)); }
  bool number_float(number_float_t value, const string_t&) override { return number(value); }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(size_t) override {
    if (depth_ == 0) is_object = true;
    ++depth_;
    return true;
  }
  bool key(string_t& name) override {
    if (depth_ == 1) outer_ = name;
    if (depth_ == 2) inner_ = name;
    return true;
  }
  bool end_object() override {
    --depth_;
    return true;
  }
  bool start_array(size_t) override {
    ++depth_;
    ++arrays_;
    return true;
  }
  bool end_array() override {
    --depth_;
    --arrays_;
    return true;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  bool number(double value) {
    if (arrays_ > 0 || !std::isfinite(value)) return true;
    if (depth_ == 1) numbers.emplace_back(outer_, value);
    if (depth_ != 2) return true;
    if (inner_ == "value") numbers.emplace_back(outer_, value);
    const bool is_beside_gap = (outer_ == "loss_gap" && inner_ == "train_loss") ||
                               (outer_ == "accuracy_gap" && inner_ == "train_accuracy");
    if (is_beside_gap) numbers.emplace_back(inner_, value);
    return true;
  }

  int depth_ = 0;
  int arrays_ = 0;
  std::string outer_;
  std::string inner_;
};

/// A gap is an object with the training loss beside it, and so is what a report looks for.
Json json_of(const std::map<std::string, double>& numbers) {
  Json record = Json::object();
  for (const auto& [key, value] : numbers) record[key] = value;
  if (record.contains("loss_gap") && record.contains("train_loss"))
    record["loss_gap"] = {{"value", record["loss_gap"]}, {"train_loss", record["train_loss"]}};
  return record;
}

}  // namespace

bool RecordColumns::add(std::string_view line) {
  NumbersOfRecord parsed;
  if (!Json::sax_parse(line.begin(), line.end(), &parsed) || !parsed.is_object) return false;
  const bool is_kept = count_ % stride_ == 0;
  ++count_;
  for (const auto& [key, value] : parsed.numbers) {
    if (key.size() > kLongestKey) continue;
    auto found = columns_.find(key);
    if (found == columns_.end()) {
      if (columns_.size() >= kMostColumns) continue;
      found = columns_.emplace(key, Column{std::vector<double>(kept_, kUnknown), value, value, value}).first;
    }
    Column& column = found->second;
    column.newest = value;
    column.lowest = std::min(column.lowest, value);
    column.highest = std::max(column.highest, value);
    if (!is_kept) continue;
    // A key that a record has twice counts once, with its last value.
    column.values.resize(kept_ + 1, kUnknown);
    column.values.back() = value;
  }
  last_.clear();
  if (!is_kept) {
    for (auto& [key, value] : parsed.numbers) last_[std::move(key)] = value;
    return true;
  }
  ++kept_;
  for (auto& [key, column] : columns_) column.values.resize(kept_, kUnknown);
  if (kept_ >= kMostKept) halve();
  return true;
}

void RecordColumns::halve() {
  const size_t half = (kept_ + 1) / 2;
  const bool is_last_dropped = kept_ % 2 == 0;
  for (auto& [key, column] : columns_) {
    if (is_last_dropped && !std::isnan(column.values.back())) last_[key] = column.values.back();
    for (size_t row = 0; row < half; ++row) column.values[row] = column.values[2 * row];
    column.values.resize(half);
  }
  kept_ = half;
  stride_ *= 2;
}

double RecordColumns::newest(const std::string& key) const {
  const auto found = columns_.find(key);
  return found == columns_.end() ? kUnknown : found->second.newest;
}

double RecordColumns::at(const std::string& key, size_t row) const {
  const auto found = columns_.find(key);
  return found == columns_.end() || row >= kept_ ? kUnknown : found->second.values[row];
}

std::map<std::string, double> RecordColumns::newest_values() const {
  std::map<std::string, double> values;
  for (const auto& [key, column] : columns_) values[key] = column.newest;
  return values;
}

void RecordColumns::shrink() {
  for (auto& [key, column] : columns_) column.values.shrink_to_fit();
}

Json RecordColumns::record_at(size_t row, const std::set<std::string>& keys) const {
  std::map<std::string, double> numbers;
  for (const auto& [key, column] : columns_) {
    if (!std::isnan(column.values[row]) && keys.contains(key)) numbers[key] = column.values[row];
  }
  return json_of(numbers);
}

std::vector<Json> RecordColumns::records(size_t stride, const std::set<std::string>& keys) const {
  std::vector<Json> all;
  if (kept_ == 0) return all;
  for (size_t row = 0; row < kept_; row += stride) all.push_back(record_at(row, keys));
  if ((kept_ - 1) % stride != 0) all.push_back(record_at(kept_ - 1, keys));
  if (!last_.empty()) {
    std::map<std::string, double> last = last_;
    std::erase_if(last, [&](const auto& entry) { return !keys.contains(entry.first); });
    all.push_back(json_of(last));
  }
  for (const bool is_low : {true, false}) {
    Json extremes = Json::object();
    for (const auto& [key, column] : columns_) {
      if (key != "epoch" && keys.contains(key)) extremes[key] = is_low ? column.lowest : column.highest;
    }
    all.push_back(std::move(extremes));
  }
  return all;
}

}  // namespace batchplus
