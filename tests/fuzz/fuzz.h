#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "formats/image_bytes.h"

namespace batchplus::fuzz {

/// libFuzzer's arguments as text.
inline std::string_view text(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// What a parser may allocate at once for an input: so many bytes for each of the input's, and what every
/// call needs (zlib's and libarchive's buffers).
struct Allowance {
  int64_t per_byte = 0;
  int64_t fixed = int64_t{4} << 20;
};

/// Runs `parse` on an input of `size` bytes. An Error is its right; any other exception, and more memory than
/// is allowed, ends the process.
void run(size_t size, Allowance allowance, const std::function<void()>& parse);

/// Checks what ImageBytes promises of itself: sizes agree and labels are of `classes`.
void check_images(const ImageBytes& images, int64_t classes);

}  // namespace batchplus::fuzz
