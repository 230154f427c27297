#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace batchplus {

/// The specs that come with the program, "demo" and "paper/table3": those of the source tree that it was
/// built in, or those that were installed with it.
std::vector<std::string> spec_names();

/// The file of one of them.
std::optional<std::filesystem::path> find_named_spec(const std::string& name);

/// The file that is meant: a file that is there, or else the spec of that name. An Error with the nearest
/// names when there is neither; a missing file that ends in .toml is left to its reader.
std::string find_spec(const std::string& asked);

}  // namespace batchplus
