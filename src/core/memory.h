#pragma once

namespace batchplus {

/// Makes the C library keep freed memory instead of returning it to the system, so that the activations of
/// each step do not fault in fresh pages. For programs: call it once, before the first tensor.
void keep_freed_memory();

}  // namespace batchplus
