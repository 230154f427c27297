#pragma once

#include <string_view>

namespace batchplus {

/// page/style.css, and the scripts beside it, put into the program when it is built.
extern const std::string_view kPageStyle;
extern const std::string_view kPageScript;

}  // namespace batchplus
