#include <algorithm>

#include "formats/idx_file.h"
#include "fuzz/fuzz.h"

/// Two bytes, the size of the images' file; that file; the labels' file.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace batchplus;
  if (size < 2) return 0;
  const std::string_view files = fuzz::text(data + 2, size - 2);
  const size_t cut = std::min<size_t>(data[0] | data[1] << 8, files.size());
  const int64_t classes = 10;
  // Inflated, in a growing string's two copies, then as an array; labels take eight bytes each.
  fuzz::run(size, {12 * kMaximumInflation}, [&] {
    fuzz::check_images(
        read_idx_pair({files.substr(0, cut), "images"}, {files.substr(cut), "labels"}, classes), classes);
  });
  return 0;
}
