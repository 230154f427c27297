#pragma once

#include <string>
#include <vector>

namespace batchplus {

/// "a, b, c and 97 more".
std::string first_few(const std::vector<std::string>& words);

}  // namespace batchplus
