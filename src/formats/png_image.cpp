#include "formats/png_image.h"

#include <fmt/format.h>
#include <png.h>

#include "formats/image_bytes.h"
#include "util/error.h"

namespace batchplus {
namespace {

constexpr int64_t kMostPixels = 16 << 20;

/// libpng's state, freed at the end of the scope.
struct PngState {
  png_image image{};
  PngState() { image.version = PNG_IMAGE_VERSION; }
  ~PngState() { png_image_free(&image); }
  PngState(const PngState&) = delete;
  PngState& operator=(const PngState&) = delete;
};

}  // namespace

RgbImage decode_png(std::string_view bytes, const std::string& where) {
  PngState state;
  png_image& image = state.image;
  const auto fail = [&]() {
    throw Error("cannot decode the PNG", {where, image.message, "the file is damaged or not a PNG"});
  };
  if (png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()) == 0) fail();
  const int64_t pixels = int64_t{image.width} * image.height;
  // A pixel takes a bit at least, and deflate's ratio is limited.
  const bool is_credible = pixels / 8 <= static_cast<int64_t>(bytes.size()) * kMaximumInflation;
  if (!is_credible || pixels > kMostPixels) {
    throw Error("PNG of an impossible size",
                {where, fmt::format("{} x {}", image.width, image.height),
                 fmt::format("pictures of up to {} pixels are read", kMostPixels)});
  }
  image.format = PNG_FORMAT_RGB;
  RgbImage decoded{image.width, image.height, std::vector<uint8_t>(PNG_IMAGE_SIZE(image))};
  const png_color black{0, 0, 0};
  if (png_image_finish_read(&image, &black, decoded.pixels.data(), 0, nullptr) == 0) fail();
  return decoded;
}

std::string encode_png(const RgbImage& image) {
  PngState state;
  state.image.width = static_cast<png_uint_32>(image.width);
  state.image.height = static_cast<png_uint_32>(image.height);
  state.image.format = PNG_FORMAT_RGB;
  std::string bytes(PNG_IMAGE_PNG_SIZE_MAX(state.image), '\0');
  png_alloc_size_t size = bytes.size();
  const int is_written =
      png_image_write_to_memory(&state.image, bytes.data(), &size, 0, image.pixels.data(), 0, nullptr);
  BATCHPLUS_CHECK(is_written != 0, "the buffer has room for the largest possible PNG");
  bytes.resize(size);
  return bytes;
}

}  // namespace batchplus
