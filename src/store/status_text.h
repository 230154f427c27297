#pragma once

#include <filesystem>
#include <string>

#include "util/json.h"

namespace batchplus {

/// read_status of the file's text; `where` names it in Errors.
Json parse_status(const std::string& text, const std::string& where);

/// An Error unless config.toml is the one that `status` vouches for.
void require_config_of(const Json& status, const std::string& config_toml, const std::filesystem::path& path);

}  // namespace batchplus
