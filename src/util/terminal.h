#pragma once

#include <cstddef>
#include <string>

namespace batchplus {

/// Whether a stream is a terminal that understands how to draw over what is there: TERM is set, and not
/// "dumb".
bool can_redraw(int descriptor);

/// How wide the terminal is; 80 where that is not known.
size_t columns_of(int descriptor);

/// As much of a line as fits, so that it does not wrap: one character less than there are columns.
std::string fit_line(const std::string& line, size_t columns);

}  // namespace batchplus
