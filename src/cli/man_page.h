#pragma once

#include <string>

#include "cli/command_tree.h"

namespace batchplus {

/// batchplus(1), in the language of man(7).
std::string man_page(const CommandEntry& program);

}  // namespace batchplus
