#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "util/json.h"

namespace batchplus {

/// The numbers of a run's records, a column for each key, in a tenth of the memory that JSON takes. Of an
/// object with a `value`, as metrics are, that value; beside a gap also train_loss and train_accuracy.
/// Of very many records only each second, fourth, ... stays; the last and the extremes are kept apart.
class RecordColumns {
 public:
  /// False, and nothing is added, when the line is not a JSON object.
  bool add(std::string_view line);
  void clear() { *this = RecordColumns(); }
  /// Gives back the memory that was kept for more records.
  void shrink();

  /// Records added.
  size_t count() const { return count_; }
  /// Those that are kept.
  size_t kept() const { return kept_; }
  /// The newest value of a key that was ever recorded; not a number when there is none.
  double newest(const std::string& key) const;
  /// A kept value; not a number where the record lacks the key.
  double at(const std::string& key, size_t row) const;

  /// Each key with its newest value.
  std::map<std::string, double> newest_values() const;

  /// Records as a report reads them, `stride` apart, and the last. Behind them one without an epoch, which
  /// is in no curve, with the extremes of each key: the best of all epochs stays what it is. Only these keys.
  std::vector<Json> records(size_t stride, const std::set<std::string>& keys) const;

 private:
  struct Column {
    std::vector<double> values;
    double newest = 0;
    double lowest = 0;
    double highest = 0;
  };
  Json record_at(size_t row, const std::set<std::string>& keys) const;
  void halve();

  std::map<std::string, Column, std::less<>> columns_;
  size_t count_ = 0;
  size_t kept_ = 0;
  size_t stride_ = 1;
  /// The newest record, when it is not among the kept ones.
  std::map<std::string, double> last_;
};

}  // namespace batchplus
