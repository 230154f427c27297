#pragma once

#include <toml++/toml.h>

#include <optional>
#include <string>
#include <vector>

namespace batchplus {

/// The keys of a config that a spec may set: all but those that name places. Where a sweep's files go is for
/// who runs it to say.
std::vector<std::string> spec_config_keys();

/// The key of the number of seeds, which is no part of a config, and its value: one or more.
inline constexpr const char* kRepeats = "repeats";
int64_t parse_repeats(const std::string& text, const std::string& where);

/// Reads one table of a spec and knows where it is: every Error has file, line and column.
class SpecTable {
 public:
  SpecTable(const toml::table& table, std::string file);

  const toml::table& table() const { return table_; }
  bool has(const std::string& name) const { return table_.contains(name); }

  std::string where() const { return position(table_.source().begin); }
  std::string where(const toml::key& key) const { return position(key.source().begin); }
  std::string place_of(const std::string& name) const { return position(table_.get(name)->source().begin); }
  std::string position(const toml::source_position& position) const;

  /// An Error for a key that is neither known nor, if wanted, among the fields of a config.
  void allow(const std::vector<std::string>& known, bool has_config_keys) const;

  std::string text(const std::string& name, const std::string& otherwise) const;
  std::string required_text(const std::string& name) const;
  /// A list like ["test_loss"].
  std::vector<std::string> texts(const std::string& name, const std::vector<std::string>& otherwise) const;

  /// The tables of an array like [[axis]]; none when it is not there.
  std::vector<SpecTable> tables(const std::string& name) const;
  /// The table [name]; nothing when it is not there.
  std::optional<SpecTable> inner_table(const std::string& name) const;

 private:
  const toml::table& table_;
  std::string file_;
};

/// The text of a scalar, as the command line would have it.
std::string scalar_text(const toml::node& node, const std::string& where, const std::string& key);

}  // namespace batchplus
