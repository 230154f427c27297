#pragma once

#include <string>
#include <vector>

#include "formats/image_bytes.h"

namespace batchplus {

/// The samples of a dataset, as its files hold them.
struct LabelledImages {
  ImageBytes train;
  ImageBytes test;
  std::vector<std::string> class_names;
};

}  // namespace batchplus
