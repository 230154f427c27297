#pragma once

#include <string>
#include <string_view>

#include "formats/image_bytes.h"

namespace batchplus {

/// A file of the MNIST family and its name for errors.
struct NamedBytes {
  std::string_view bytes;
  std::string where;
};

/// Images [n][1][H][W] from an idx3-ubyte file and their labels from an idx1-ubyte file, plain or gzip.
ImageBytes read_idx_pair(const NamedBytes& images, const NamedBytes& labels, int64_t classes);

}  // namespace batchplus
