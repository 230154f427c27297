#include "config/config_toml.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/config_fields.h"
#include "config/parse_toml.h"
#include "util/error.h"
#include "util/file.h"
#include "util/hash.h"
#include "util/text.h"

namespace batchplus {
namespace {

/// The text of a value that has the field's type.
std::string text_of(const ConfigField& field, const toml::node& node, const std::string& where) {
  switch (field.kind) {
    case ConfigField::Kind::kText:
      if (const auto* text = node.as_string()) return text->get();
      // A size like outer_batch = 256 reads better without quotes.
      if (const auto* number = node.as_integer()) return std::to_string(number->get());
      if (const auto* number = node.as_floating_point()) return format_number(number->get());
      throw Error("wrong type", {where, field.key, "expected text in quotes"});
    case ConfigField::Kind::kInteger:
      if (const auto* number = node.as_integer()) return std::to_string(number->get());
      throw Error("wrong type", {where, field.key, "expected a whole number, without quotes"});
    case ConfigField::Kind::kNumber:
      if (const auto* number = node.as_integer()) return std::to_string(number->get());
      if (const auto* number = node.as_floating_point()) return format_number(number->get());
      throw Error("wrong type", {where, field.key, "expected a number, without quotes"});
  }
  BATCHPLUS_CHECK(false, "the switch covers every kind");
}

/// Keys whose value is a path; an empty one is no path.
bool is_path(const std::string& key) {
  return key == "out" || key == "save_weights" || key == "init" || key == "data_dir";
}

/// As a TOML string: quotes, backslashes and control characters are escaped.
std::string quoted(const std::string& value) {
  std::string text = "\"";
  for (const char c : value) {
    const auto code = static_cast<uint8_t>(c);
    if (c == '"' || c == '\\') {
      text += {'\\', c};
    } else if (code < 0x20 || code == 0x7f) {
      text += fmt::format("\\u{:04x}", code);
    } else {
      text += c;
    }
  }
  return text + '"';
}

std::string write_toml(const RunConfig& config, bool is_for_result) {
  const RunConfig defaults;
  std::string toml;
  for (const auto& field : config_fields()) {
    if (is_for_result && !field.decides_result) continue;
    const std::string value = field.get(config);
    if (is_for_result && !value.empty() && value == field.left_out_of_id) continue;
    if (value.empty() && field.get(defaults).empty()) continue;
    if (field.kind == ConfigField::Kind::kText) {
      toml += fmt::format("{} = {}\n", field.key, quoted(value));
    } else {
      const bool needs_point =
          field.kind == ConfigField::Kind::kNumber && value.find_first_of(".e") == std::string::npos;
      toml += fmt::format("{} = {}{}\n", field.key, value, needs_point ? ".0" : "");
    }
  }
  return toml;
}

}  // namespace

void parse_config(RunConfig& config, std::string_view text, const std::string& where) {
  const toml::table table = parse_toml(text, where);
  std::vector<std::string> keys;
  for (const auto& field : config_fields()) keys.push_back(field.key);
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    const std::string place = place_in(where, key.source().begin);
    const auto field = std::find(keys.begin(), keys.end(), name);
    if (field == keys.end()) throw Error("unknown key", {place, name, suggest_key(name, keys)});
    const ConfigField& row = config_fields()[static_cast<size_t>(field - keys.begin())];
    const std::string text = text_of(row, node, place);
    if (text.empty() && is_path(name)) {
      throw Error("the value is empty",
                  {fmt::format("{}, {}", place, name), "", "leave it out, or give it a value"});
    }
    row.set(config, text, fmt::format("{}, {}", place, name));
  }
}

void read_config_file(RunConfig& config, const std::filesystem::path& path) {
  parse_config(config, read_file(path), path.string());
}

RunConfig parse_run_config(std::string_view text, const std::string& where) {
  RunConfig config = defaults_of_older_runs();
  parse_config(config, text, where);
  return config;
}

std::string to_toml(const RunConfig& config) {
  return write_toml(config, /*is_for_result=*/false);
}

std::string result_toml(const RunConfig& config) {
  return write_toml(config, /*is_for_result=*/true);
}

std::string config_id(const RunConfig& config) {
  constexpr size_t kDigits = 12;
  return sha256_hex(result_toml(config)).substr(0, kDigits);
}

}  // namespace batchplus
