#pragma once

#include <memory>
#include <vector>

#include "group/group.h"

namespace batchplus {

/// A group whose ranks are threads of this process, for tests: each takes one of these to a thread of its
/// own. One that is destroyed is lost to the others.
std::vector<std::unique_ptr<Group>> make_thread_groups(int size);

}  // namespace batchplus
