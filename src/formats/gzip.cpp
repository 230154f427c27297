#include "formats/gzip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <memory>
#include <vector>

#include "util/error.h"

namespace batchplus {
namespace {

constexpr int kGzipWindow = 15 + 16;

/// zlib's state, freed at the end of the scope.
class Inflater {
 public:
  Inflater() { BATCHPLUS_CHECK(inflateInit2(&stream_, kGzipWindow) == Z_OK, "zlib has memory to begin"); }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  z_stream& stream() { return stream_; }

 private:
  z_stream stream_{};
};

}  // namespace

std::string gunzip(std::string_view bytes, const std::string& where) {
  if (!bytes.starts_with("\x1f\x8b")) return std::string(bytes);
  Inflater inflater;
  z_stream& stream = inflater.stream();
  std::string out;
  std::vector<char> piece(size_t{1} << 18);
  size_t taken = 0;
  while (taken < bytes.size()) {
    // zlib counts in 32 bits, so the input goes in by pieces too.
    const size_t offered = std::min(bytes.size() - taken, size_t{1} << 30);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + taken));
    stream.avail_in = static_cast<uInt>(offered);
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    const int result = inflate(&stream, Z_NO_FLUSH);
    taken += offered - stream.avail_in;
    out.append(piece.data(), piece.size() - stream.avail_out);
    if (result == Z_STREAM_END) {
      if (taken == bytes.size()) return out;
      inflateReset(&stream);  // another member follows
    } else if (result != Z_OK) {
      throw Error("damaged gzip file", {fmt::format("{}, offset {}", where, taken),
                                        stream.msg == nullptr ? zError(result) : stream.msg, "get it again"});
    }
  }
  throw Error("truncated gzip file",
              {fmt::format("{}, offset {}", where, taken), fmt::format("{} bytes", bytes.size()),
               "the file ends early; get it again"});
}

}  // namespace batchplus
