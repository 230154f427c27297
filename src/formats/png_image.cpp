#include "formats/png_image.h"

#include <fmt/format.h>
#include <png.h>
#include <zlib.h>

#include <optional>

#include "formats/image_bytes.h"
#include "util/error.h"
#include "util/hash.h"

namespace batchplus {
namespace {

constexpr int64_t kMostPixels = 16 << 20;
/// Length, type and CRC of a chunk, without what it holds; IEND holds nothing.
constexpr size_t kEmptyChunk = 12;

/// libpng's state, freed at the end of the scope.
struct PngState {
  png_image image{};
  PngState() { image.version = PNG_IMAGE_VERSION; }
  ~PngState() { png_image_free(&image); }
  PngState(const PngState&) = delete;
  PngState& operator=(const PngState&) = delete;
};

/// The chunks that say which pixels there are, without those that say how a screen should show them: pixels
/// are data here, and a tag for the gamma of a screen does not change them. Nothing, when a chunk does not
/// lie within the file: libpng allocates what a chunk claims to hold.
std::optional<std::string> pixel_chunks(std::string_view bytes) {
  constexpr size_t kWord = 4;
  constexpr size_t kSignature = 8;
  std::string kept(bytes.substr(0, kSignature));
  for (size_t begin = kSignature; begin <= bytes.size() && bytes.size() - begin >= kEmptyChunk;) {
    uint32_t length = 0;
    for (const char byte : bytes.substr(begin, kWord)) length = length << 8 | static_cast<uint8_t>(byte);
    if (length > bytes.size() - begin - kEmptyChunk) return std::nullopt;
    const std::string_view type = bytes.substr(begin + kWord, kWord);
    const bool is_critical = (static_cast<uint8_t>(type[0]) & 0x20) == 0;  // an upper-case letter
    if (is_critical || type == "tRNS") kept += bytes.substr(begin, length + kEmptyChunk);
    if (type == "IEND") return kept;
    begin += length + kEmptyChunk;
  }
  return std::nullopt;
}

/// RGBA over black, by pixel values.
void lay_over_black(const std::vector<uint8_t>& rgba, std::vector<uint8_t>& rgb) {
  constexpr int kOpaque = 255;
  rgb.reserve(rgba.size() / 4 * 3);
  for (size_t pixel = 0; pixel < rgba.size(); pixel += 4) {
    for (size_t c = 0; c < 3; ++c)
      rgb.push_back(static_cast<uint8_t>((rgba[pixel + c] * rgba[pixel + 3] + kOpaque / 2) / kOpaque));
  }
}

}  // namespace

RgbImage decode_png(std::string_view bytes, const std::string& where) {
  PngState state;
  png_image& image = state.image;
  const auto fail = [&](const char* reason) {
    throw Error("cannot decode the PNG", {where, reason, "the file is damaged or not a PNG"});
  };
  const auto chunks = pixel_chunks(bytes);
  if (!chunks) fail("it ends early");
  if (png_image_begin_read_from_memory(&image, chunks->data(), chunks->size()) == 0) fail(image.message);
  const int64_t pixels = int64_t{image.width} * image.height;
  // A pixel takes a bit at least, and deflate's ratio is limited.
  const bool is_credible = pixels / 8 <= static_cast<int64_t>(bytes.size()) * kMaximumInflation;
  if (!is_credible || pixels > kMostPixels) {
    throw Error("PNG of an impossible size",
                {where, fmt::format("{} x {}", image.width, image.height),
                 fmt::format("pictures of up to {} pixels are read", kMostPixels)});
  }
  // Otherwise libpng takes 16 bits for linear light, and 8 bits not.
  image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
  image.format = PNG_FORMAT_RGBA;
  std::vector<uint8_t> rgba(PNG_IMAGE_SIZE(image));
  if (png_image_finish_read(&image, nullptr, rgba.data(), 0, nullptr) == 0) fail(image.message);
  RgbImage decoded{image.width, image.height, {}};
  lay_over_black(rgba, decoded.pixels);
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

namespace {

std::string big_endian(uint32_t number) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(number >> shift & 0xff));
  return bytes;
}

/// "Software", and the program with the checksum of the PNG without this chunk.
std::string signature_of(std::string_view png) {
  using namespace std::string_literals;
  const std::string text = "Software\0BatchPlus "s + sha256_hex(png);
  const std::string chunk = "tEXt" + text;
  const auto crc = static_cast<uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(chunk.data()), static_cast<uInt>(chunk.size())));
  return big_endian(static_cast<uint32_t>(text.size())) + chunk + big_endian(crc);
}

}  // namespace

std::string sign_png(std::string png) {
  BATCHPLUS_CHECK(png.size() > kEmptyChunk, "a PNG ends with a chunk");
  return png.insert(png.size() - kEmptyChunk, signature_of(png));
}

bool has_signature(std::string_view png) {
  const size_t size = signature_of("").size();
  if (png.size() < size + kEmptyChunk) return false;
  const size_t begin = png.size() - kEmptyChunk - size;
  std::string unsigned_png(png.substr(0, begin));
  unsigned_png += png.substr(begin + size);
  return png.substr(begin, size) == signature_of(unsigned_png);
}

}  // namespace batchplus
