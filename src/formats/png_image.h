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

/// Any PNG as 8-bit RGB: greys and palettes are expanded, 16 bits v are rounded to 8 as v / 257, and
/// pixel values are laid over black by their opacity. Tags for screens (gamma, colour profiles) change
/// nothing. `where` names the file in errors.
RgbImage decode_png(std::string_view bytes, const std::string& where);

std::string encode_png(const RgbImage& image);

/// The same picture with a checksum of its bytes in it (a tEXt chunk), by which has_signature knows it again.
std::string sign_png(std::string png);
/// Whether sign_png made the file, and nobody changed it since.
bool has_signature(std::string_view png);

}  // namespace batchplus
