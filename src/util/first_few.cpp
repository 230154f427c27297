#include "util/first_few.h"

#include <fmt/format.h>

#include "util/text.h"

namespace batchplus {

std::string first_few(const std::vector<std::string>& words) {
  constexpr size_t kFew = 3;
  if (words.size() <= kFew) return join(words, ", ");
  return fmt::format("{} and {} more", join({words.begin(), words.begin() + kFew}, ", "),
                     words.size() - kFew);
}

}  // namespace batchplus
