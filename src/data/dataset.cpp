#include "data/dataset.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "util/error.h"

namespace batchplus {

void validate(const ImageSet& set, int64_t classes, const std::string& where) {
  if (set.size() == 0) throw Error("no samples", {where, "0", "the file is empty or cut short"});
  if (set.size() != set.labels.size(0)) {
    throw Error("images and labels differ in number",
                {where, fmt::format("{} images, {} labels", set.size(), set.labels.size(0)),
                 "the files do not belong together"});
  }
  const int64_t* labels = set.labels.data_ptr<int64_t>();
  for (int64_t i = 0; i < set.size(); ++i) {
    if (labels[i] < 0 || labels[i] >= classes) {
      throw Error(
          "label out of range",
          {fmt::format("{}, record {}", where, i), std::to_string(labels[i]),
           fmt::format("labels are 0 to {}; the file is damaged or of another dataset", classes - 1)});
    }
  }
}

}  // namespace batchplus
