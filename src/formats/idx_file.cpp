#include "formats/idx_file.h"

#include <fmt/format.h>

#include "formats/gzip.h"
#include "util/error.h"

namespace batchplus {
namespace {

struct IdxArray {
  std::vector<int64_t> shape;
  std::vector<uint8_t> values;

  int64_t header_bytes() const { return 4 + 4 * static_cast<int64_t>(shape.size()); }
};

/// Reads big-endian words and knows where it is.
class IdxReader {
 public:
  IdxReader(std::string_view bytes, const std::string& where) : bytes_(bytes), where_(where) {}

  [[noreturn]] void fail(const std::string& what, const std::string& value, const std::string& hint) const {
    throw Error(what, {fmt::format("{}, offset {}", where_, offset_), value, hint});
  }

  uint32_t word() {
    if (bytes_.size() - offset_ < 4)
      fail("truncated idx file", "no room for its header", "get the file again");
    uint32_t number = 0;
    for (const char byte : bytes_.substr(offset_, 4)) number = number << 8 | static_cast<uint8_t>(byte);
    offset_ += 4;
    return number;
  }

  std::string_view rest() const { return bytes_.substr(offset_); }

 private:
  std::string_view bytes_;
  const std::string& where_;
  size_t offset_ = 0;
};

IdxArray read_idx(const NamedBytes& file, uint32_t dimensions) {
  const std::string bytes = gunzip(file.bytes, file.where);
  IdxReader reader(bytes, file.where);
  const uint32_t expected = 0x00000800 | dimensions;  // unsigned bytes
  if (const uint32_t magic = reader.word(); magic != expected) {
    throw Error("not an idx file of bytes",
                {fmt::format("{}, offset 0", file.where), fmt::format("magic {:#010x}", magic),
                 fmt::format("expected magic {:#010x}", expected)});
  }
  IdxArray array;
  int64_t count = 1;
  const auto available = static_cast<int64_t>(bytes.size());
  for (uint32_t d = 0; d < dimensions; ++d) {
    const int64_t extent = reader.word();
    array.shape.push_back(extent);
    const bool fits = extent > 0 && count <= available / extent;
    if (!fits) {
      reader.fail("idx header does not fit the file",
                  fmt::format("dimension of {} in {} bytes", extent, available),
                  "the file is truncated or damaged; get it again");
    }
    count *= extent;
  }
  const std::string_view values = reader.rest();
  if (static_cast<int64_t>(values.size()) != count) {
    reader.fail(static_cast<int64_t>(values.size()) < count ? "truncated idx file"
                                                            : "idx file is longer than its header says",
                fmt::format("{} bytes of data instead of {}", values.size(), count), "get the file again");
  }
  array.values.assign(values.begin(), values.end());
  return array;
}

}  // namespace

ImageBytes read_idx_pair(const NamedBytes& images, const NamedBytes& labels, int64_t classes) {
  IdxArray pixels = read_idx(images, 3);
  const IdxArray numbers = read_idx(labels, 1);
  if (pixels.shape[0] != numbers.shape[0]) {
    throw Error("images and labels differ in number",
                {fmt::format("{} and {}", images.where, labels.where),
                 fmt::format("{} images, {} labels", pixels.shape[0], numbers.shape[0]),
                 "the files do not belong together"});
  }
  for (size_t i = 0; i < numbers.values.size(); ++i)
    require_label(numbers.values[i], classes, labels.where, numbers.header_bytes() + static_cast<int64_t>(i));
  return {1,
          pixels.shape[1],
          pixels.shape[2],
          std::move(pixels.values),
          {numbers.values.begin(), numbers.values.end()}};
}

}  // namespace batchplus
