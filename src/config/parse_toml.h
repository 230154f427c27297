#pragma once

#include <toml++/toml.h>

#include <string>
#include <string_view>

namespace batchplus {

/// "file:line:column".
std::string place_in(const std::string& where, const toml::source_position& position);

/// An Error with line and column unless it is TOML; `where` names the text.
toml::table parse_toml(std::string_view text, const std::string& where);

}  // namespace batchplus
