#pragma once

namespace batchplus {

/// Puts something in the place of standard streams that were closed, so that no file that is opened later
/// gets their numbers and what is printed. Writing to a standard output that was closed still fails.
void hold_standard_streams();

/// Writes out what was printed to standard output. False when some of it was lost: a full disk, or a closed
/// stream.
bool flush_standard_output();

}  // namespace batchplus
