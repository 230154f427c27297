#pragma once

#include <vector>

namespace batchplus {

/// The processor's cores that this process may run on, at least one.
std::vector<int> usable_cores();

/// This thread, and those that it starts from now on, run on these cores.
void pin_to(const std::vector<int>& cores);

}  // namespace batchplus
