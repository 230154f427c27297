#pragma once

#include <filesystem>

namespace batchplus {

/// The program is two: the launcher, which people call, and the core beside it, which has libtorch. Both find
/// each other by where they are, in a build tree and installed, so a copy of the whole can be anywhere.

/// The core that belongs to this launcher; an Error when it is not there.
std::filesystem::path core_program();

/// Whether the program was built and not installed.
bool is_in_build_tree();

/// What to call to run the program once more: the launcher that belongs to this core, or this very program
/// when there is none.
std::filesystem::path called_program();

}  // namespace batchplus
