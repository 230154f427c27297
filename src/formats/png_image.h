#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace batchplus {

/// An RGB picture: [height][width][3].
struct RgbImage {
  int64_t width = 0;
  int64_t height = 0;
  std::vector<uint8_t> pixels = {};
};

/// Any PNG as 8-bit RGB: greys and palettes are expanded, transparency is laid over black. `where` names the
/// file in errors.
RgbImage decode_png(std::string_view bytes, const std::string& where);

std::string encode_png(const RgbImage& image);

}  // namespace batchplus
