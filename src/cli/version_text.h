#pragma once

#include <string>

#include "cli/catalog.h"

namespace batchplus {

/// What decides the bits of a result: program, commit, libtorch, revision of own kernels, and by which
/// instructions this machine computes. Throws as kernels::instruction_set() does.
std::string version_text(const Catalog& catalog);

}  // namespace batchplus
