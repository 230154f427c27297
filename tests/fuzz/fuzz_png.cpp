#include <zlib.h>

#include "formats/png_image.h"
#include "fuzz/fuzz.h"
#include "util/error.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

namespace {

constexpr size_t kSignature = 8;
constexpr size_t kWord = 4;

uint32_t read_word(const uint8_t* bytes) {
  uint32_t word = 0;
  for (size_t i = 0; i < kWord; ++i) word = word << 8 | bytes[i];
  return word;
}

void write_word(uint8_t* bytes, uint32_t word) {
  for (size_t i = 0; i < kWord; ++i) bytes[i] = static_cast<uint8_t>(word >> (24 - 8 * i));
}

/// Every chunk is its length, its type, its data and the CRC of the last two.
void repair_checksums(uint8_t* png, size_t size) {
  for (size_t begin = kSignature; begin + 3 * kWord <= size;) {
    const size_t length = read_word(png + begin);
    if (length > size - begin - 3 * kWord) return;
    const uint8_t* checked = png + begin + kWord;
    const auto crc = crc32(0, checked, static_cast<uInt>(length + kWord));
    write_word(png + begin + 2 * kWord + length, static_cast<uint32_t>(crc));
    begin += length + 3 * kWord;
  }
}

}  // namespace

/// Without right checksums no mutated chunk would get further.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  size = LLVMFuzzerMutate(data, size, most);
  if (seed % 4 != 0) repair_checksums(data, size);
  return size;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace batchplus;
  // Three bytes a pixel, of which a byte may hold eight. libpng takes up to 8 MB for one chunk, by its own
  // limit.
  fuzz::run(size, {3 * 8 * kMaximumInflation, int64_t{16} << 20}, [&] {
    const RgbImage image = decode_png(fuzz::text(data, size), "fuzz");
    BATCHPLUS_CHECK(image.width > 0 && image.height > 0, "a picture has pixels");
    BATCHPLUS_CHECK(static_cast<int64_t>(image.pixels.size()) == image.width * image.height * 3,
                    "pixels are [height][width][3]");
  });
  return 0;
}
