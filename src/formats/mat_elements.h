#pragma once

#include <string>
#include <string_view>

namespace batchplus {

/// Checks the bytes of a MATLAB 5 file before matio reads it. matio believes a file: it allocates what a tag
/// claims, and where deflated data is damaged or ends early it returns memory that nobody wrote.
///
/// An Error unless every element is a real numeric array, plain or deflated, whose tags, extents and data
/// agree with one another and with the file, and which inflates to its checksum. `where` names the file.
void require_numeric_arrays(std::string_view bytes, const std::string& where);

}  // namespace batchplus
