#pragma once

#include <string>
#include <string_view>

namespace batchplus {

/// What a gzip file holds, checked against its own checksum; bytes that are not gzip come back as they are.
/// An Error when the stream is cut short or damaged. `where` names the file.
std::string gunzip(std::string_view bytes, const std::string& where);

}  // namespace batchplus
