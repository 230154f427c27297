#include "config/spec_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/config_fields.h"
#include "util/error.h"
#include "util/text.h"

namespace batchplus {

std::vector<std::string> spec_config_keys() {
  std::vector<std::string> keys;
  for (const ConfigField& field : config_fields()) {
    const bool names_a_place = !field.decides_result && field.key != "checkpoint_every";
    if (!names_a_place) keys.push_back(field.key);
  }
  return keys;
}

int64_t parse_repeats(const std::string& text, const std::string& where) {
  const int64_t repeats = parse_integer(text, where);
  if (repeats < 1)
    throw Error("value out of range", {where, text, fmt::format("{} must be one or more", kRepeats)});
  return repeats;
}

SpecTable::SpecTable(const toml::table& table, std::string file) : table_(table), file_(std::move(file)) {}

std::string SpecTable::position(const toml::source_position& position) const {
  return fmt::format("{}:{}:{}", file_, position.line, position.column);
}

void SpecTable::allow(const std::vector<std::string>& known, bool has_config_keys) const {
  std::vector<std::string> names = known;
  if (has_config_keys) {
    for (const std::string& key : spec_config_keys()) names.push_back(key);
  }
  for (const auto& [key, node] : table_) {
    const std::string name(key.str());
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    throw Error("unknown key", {where(key), name, suggest_key(name, names)});
  }
}

std::string SpecTable::text(const std::string& name, const std::string& otherwise) const {
  const auto* node = table_.get(name);
  if (node == nullptr) return otherwise;
  if (const auto* text = node->as_string()) return text->get();
  throw Error("wrong type", {place_of(name), name, "expected text in quotes"});
}

std::string SpecTable::required_text(const std::string& name) const {
  if (!has(name)) throw Error("a key is missing", {where(), name, fmt::format("add {} = \"...\"", name)});
  return text(name, "");
}

std::vector<std::string> SpecTable::texts(const std::string& name,
                                          const std::vector<std::string>& otherwise) const {
  const auto* node = table_.get(name);
  if (node == nullptr) return otherwise;
  const auto* list = node->as_array();
  if (list == nullptr || list->empty()) {
    throw Error("wrong type", {place_of(name), name, fmt::format("write {} = [\"...\"]", name)});
  }
  std::vector<std::string> texts;
  for (const auto& element : *list)
    texts.push_back(scalar_text(element, position(element.source().begin), name));
  return texts;
}

std::vector<SpecTable> SpecTable::tables(const std::string& name) const {
  std::vector<SpecTable> all;
  const auto* node = table_.get(name);
  if (node == nullptr) return all;
  const std::string hint = fmt::format("write [[{}]]", name);
  const auto* array = node->as_array();
  if (array == nullptr) throw Error("wrong type", {place_of(name), name, hint});
  for (const auto& element : *array) {
    const auto* table = element.as_table();
    if (table == nullptr) throw Error("wrong type", {position(element.source().begin), name, hint});
    all.emplace_back(*table, file_);
  }
  return all;
}

std::optional<SpecTable> SpecTable::inner_table(const std::string& name) const {
  const auto* node = table_.get(name);
  if (node == nullptr) return std::nullopt;
  if (const auto* table = node->as_table()) return SpecTable(*table, file_);
  throw Error("wrong type", {place_of(name), name, fmt::format("write [{}] or {{...}}", name)});
}

std::string scalar_text(const toml::node& node, const std::string& where, const std::string& key) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  if (const auto* number = node.as_floating_point()) return format_number(number->get());
  throw Error("wrong type", {where, key, "expected text or a number"});
}

}  // namespace batchplus
