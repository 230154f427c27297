#include "config/parse_toml.h"

#include <fmt/format.h>

#include "util/error.h"

namespace batchplus {

std::string place_in(const std::string& where, const toml::source_position& position) {
  return fmt::format("{}:{}:{}", where, position.line, position.column);
}

toml::table parse_toml(std::string_view text, const std::string& where) {
  try {
    return toml::parse(text, where);
  } catch (const toml::parse_error& problem) {
    throw Error("not valid TOML", {place_in(where, problem.source().begin),
                                   std::string(problem.description()), "see https://toml.io for the syntax"});
  }
}

}  // namespace batchplus
