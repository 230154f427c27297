#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <utility>

namespace batchplus {

/// Puts something in the place of standard streams that were closed, so that no file that is opened later
/// gets their numbers and what is printed. Writing to a standard output that was closed still fails.
void hold_standard_streams();

/// Writes out what was printed to standard output. False when some of it was lost: a full disk, or a closed
/// stream.
bool flush_standard_output();

/// Prints to standard error. What cannot be written there, as on a full disk, is nobody's loss but the
/// reader's: no run ends because of it.
template <typename... Arguments>
void tell(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  std::fputs(fmt::format(format, std::forward<Arguments>(arguments)...).c_str(), stderr);
}

}  // namespace batchplus
