#include "formats/mat_elements.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "util/error.h"

namespace batchplus {
namespace {

constexpr size_t kHeaderBytes = 128;
constexpr size_t kTagBytes = 8;
constexpr uint32_t kInt8 = 1;
constexpr uint32_t kInt32 = 5;
constexpr uint32_t kUInt32 = 6;
constexpr uint32_t kSingle = 7;
constexpr uint32_t kDouble = 9;
constexpr uint32_t kMatrix = 14;
constexpr uint32_t kCompressed = 15;

/// All that comes before an array's data fits: MATLAB's names have 63 bytes at most.
constexpr size_t kMostHead = 256;
constexpr size_t kMostName = 63;
constexpr uint32_t kMostExtents = 8;

/// Bytes of a stored number; 0 for types that are none.
uint64_t number_bytes(uint32_t type) {
  constexpr uint8_t kBytes[] = {0, 1, 1, 2, 2, 4, 4, 4, 0, 8, 0, 0, 8, 8};
  return type < std::size(kBytes) ? kBytes[type] : 0;
}

size_t padded(size_t bytes) {
  return (bytes + 7) / 8 * 8;
}

/// An array's element as it is when inflated: its first bytes, and how many there are in all.
struct ArrayElement {
  std::string head;
  uint64_t size = 0;
};

/// An element's type, and where its data is. Up to four bytes of data share the tag's own eight.
struct Tag {
  uint32_t type = 0;
  size_t begin = 0;
  size_t bytes = 0;
  bool is_small = false;

  size_t end() const { return begin + bytes; }
  size_t padded_end() const { return is_small ? begin + 4 : begin + padded(bytes); }
};

/// Walks over the file's elements.
class ElementChecker {
 public:
  ElementChecker(std::string_view bytes, const std::string& where)
      : bytes_(bytes), where_(where), is_big_endian_(bytes.substr(kHeaderBytes - 2, 2) == "MI") {}

  void check() {
    for (offset_ = kHeaderBytes; offset_ < bytes_.size();) {
      const Tag tag = tag_at(bytes_, offset_);
      if (tag.is_small || tag.bytes > bytes_.size() - tag.begin) fail("an element does not fit the file");
      if (tag.type == kCompressed) {
        check_array(inflated(bytes_.substr(tag.begin, tag.bytes)));
      } else {
        const std::string_view element = bytes_.substr(offset_, kTagBytes + tag.bytes);
        check_array({std::string(element.substr(0, kMostHead)), element.size()});
      }
      offset_ = tag.end();
    }
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const {
    throw Error("damaged MATLAB file, or one of other things than numbers",
                {fmt::format("{}, element at offset {}", where_, offset_), reason, "get the file again"});
  }

  void require(bool condition, const char* reason) const {
    if (!condition) fail(reason);
  }

  uint32_t word(std::string_view bytes, size_t begin) const {
    require(begin <= bytes.size() && bytes.size() - begin >= 4, "it ends early");
    uint32_t number = 0;
    for (size_t i = 0; i < 4; ++i) {
      const size_t shift = 8 * (is_big_endian_ ? 3 - i : i);
      number |= uint32_t{static_cast<uint8_t>(bytes[begin + i])} << shift;
    }
    return number;
  }

  Tag tag_at(std::string_view bytes, size_t begin) const {
    const uint32_t first = word(bytes, begin);
    const uint32_t small_bytes = first >> 16;
    if (small_bytes == 0) return {first, begin + kTagBytes, word(bytes, begin + 4), false};
    require(small_bytes <= 4, "a short element is longer than four bytes");
    return {first & 0xffff, begin + 4, small_bytes, true};
  }

  ArrayElement inflated(std::string_view deflated) const {
    std::vector<char> piece(size_t{1} << 16);
    z_stream stream{};
    BATCHPLUS_CHECK(inflateInit(&stream) == Z_OK, "zlib has memory to begin");
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(deflated.data()));
    stream.avail_in = static_cast<uInt>(deflated.size());
    ArrayElement element;
    int result = Z_OK;
    while (result == Z_OK) {
      stream.next_out = reinterpret_cast<Bytef*>(piece.data());
      stream.avail_out = static_cast<uInt>(piece.size());
      result = inflate(&stream, Z_NO_FLUSH);
      const size_t count = piece.size() - stream.avail_out;
      element.head.append(piece.data(), std::min(count, kMostHead - element.head.size()));
      element.size += count;
    }
    const bool is_whole = result == Z_STREAM_END && stream.avail_in == 0;
    inflateEnd(&stream);
    require(is_whole, "its deflated data is damaged or ends early");
    return element;
  }

  /// Tag, flags, extents, name, data: in this order, and nothing else.
  void check_array(const ArrayElement& element) const {
    const std::string_view head = element.head;
    require(word(head, 0) == kMatrix && word(head, 4) == element.size - kTagBytes,
            "it is no array of its size");

    const Tag flags = tag_at(head, kTagBytes);
    require(flags.type == kUInt32 && !flags.is_small && flags.bytes == 8, "its flags are described wrongly");
    const uint32_t array_flags = word(head, flags.begin);
    const uint32_t array_class = array_flags & 0xff;
    constexpr uint32_t kComplex = 0x0800;
    require(array_class >= 6 && array_class <= 15, "it holds no numbers");
    require((array_flags & kComplex) == 0, "its numbers are complex");

    const Tag extents = tag_at(head, flags.padded_end());
    require(extents.type == kInt32 && !extents.is_small && extents.bytes % 4 == 0 && extents.bytes >= 8 &&
                extents.bytes <= 4 * kMostExtents,
            "its extents are described wrongly");
    const uint64_t count = count_numbers(head, extents, element.size);

    const Tag name = tag_at(head, extents.padded_end());
    require(name.type == kInt8 && name.bytes <= kMostName, "its name is described wrongly");

    const Tag data = tag_at(head, name.padded_end());
    const bool is_fraction = data.type == kSingle || data.type == kDouble;
    const bool is_fraction_class = array_class <= 7;
    require(number_bytes(data.type) > 0 && (is_fraction_class || !is_fraction),
            "its data is of the wrong type");
    require(data.bytes == count * number_bytes(data.type), "its data and its extents disagree");
    require(data.end() <= element.size && element.size <= data.padded_end(),
            "its data and its size disagree");
  }

  /// The product of the extents; an Error when it is more than `most`.
  uint64_t count_numbers(std::string_view head, const Tag& extents, uint64_t most) const {
    uint64_t count = 1;
    for (size_t begin = extents.begin; begin < extents.end(); begin += 4) {
      const uint64_t extent = word(head, begin);
      require(extent > 0 && count <= most / extent, "its extents are larger than its data");
      count *= extent;
    }
    return count;
  }

  std::string_view bytes_;
  const std::string& where_;
  bool is_big_endian_;
  size_t offset_ = 0;
};

}  // namespace

void require_numeric_arrays(std::string_view bytes, const std::string& where) {
  BATCHPLUS_CHECK(bytes.size() >= kHeaderBytes, "the caller has checked the header");
  ElementChecker(bytes, where).check();
}

}  // namespace batchplus
