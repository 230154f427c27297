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

/// Whether the chunks up to the last one lie within the file: libpng allocates what a chunk claims to hold.
bool has_whole_chunks(std::string_view bytes) {
  constexpr size_t kWord = 4;
  for (size_t begin = 8; begin <= bytes.size() && bytes.size() - begin >= 3 * kWord;) {  // length, type, CRC
    uint32_t length = 0;
    for (const char byte : bytes.substr(begin, kWord)) length = length << 8 | static_cast<uint8_t>(byte);
    if (length > bytes.size() - begin - 3 * kWord) return false;
    if (bytes.substr(begin + kWord, kWord) == "IEND") return true;
    begin += length + 3 * kWord;
  }
  return false;
}

}  // namespace

RgbImage decode_png(std::string_view bytes, const std::string& where) {
  PngState state;
  png_image& image = state.image;
  const auto fail = [&](const char* reason) {
    throw Error("cannot decode the PNG", {where, reason, "the file is damaged or not a PNG"});
  };
  if (!has_whole_chunks(bytes)) fail("it ends early");
  if (png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()) == 0) fail(image.message);
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
  if (png_image_finish_read(&image, &black, decoded.pixels.data(), 0, nullptr) == 0) fail(image.message);
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
