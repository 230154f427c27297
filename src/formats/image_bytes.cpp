#include "formats/image_bytes.h"

#include <fmt/format.h>

#include "util/error.h"

namespace batchplus {

void require_label(int64_t label, int64_t classes, const std::string& where, int64_t offset) {
  if (label >= 0 && label < classes) return;
  throw Error("label out of range",
              {fmt::format("{}, offset {}", where, offset), std::to_string(label),
               fmt::format("labels are 0 to {}; the file is damaged or of another dataset", classes - 1)});
}

}  // namespace batchplus
