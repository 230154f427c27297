#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <vector>

#include "formats/svhn_mat.h"
#include "fuzz/fuzz.h"
#include "util/error.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

namespace {

/// A file in memory, because matio reads only files.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(memfd_create("fuzz_mat", 0)) {
    BATCHPLUS_CHECK(descriptor_ >= 0, "the kernel makes files in memory");
  }

  std::string path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }

  void replace(const uint8_t* data, size_t size) const {
    const bool is_cut = ftruncate(descriptor_, static_cast<off_t>(size)) == 0;
    BATCHPLUS_CHECK(is_cut && pwrite(descriptor_, data, size, 0) == static_cast<ssize_t>(size),
                    "there is memory for the input");
  }

 private:
  int descriptor_;
};

constexpr size_t kHeader = 128;
constexpr size_t kTag = 8;

uint32_t read_word(const std::string& bytes, size_t begin, bool is_big_endian) {
  uint32_t word = 0;
  for (size_t i = 0; i < 4; ++i)
    word = word << 8 | static_cast<uint8_t>(bytes[begin + (is_big_endian ? i : 3 - i)]);
  return word;
}

void write_word(std::string& bytes, size_t begin, bool is_big_endian, size_t word) {
  for (size_t i = 0; i < 4; ++i)
    bytes[begin + (is_big_endian ? 3 - i : i)] = static_cast<char>(word >> 8 * i);
}

/// Mutates what the element's data inflates to; false when it does not inflate.
bool mutate_inflated(std::string& file, size_t tag, size_t size, bool is_big_endian) {
  std::vector<Bytef> plain(size_t{1} << 15);
  auto plain_size = static_cast<uLongf>(plain.size());
  const auto* deflated = reinterpret_cast<const Bytef*>(file.data() + tag + kTag);
  if (uncompress(plain.data(), &plain_size, deflated, size) != Z_OK) return false;
  plain_size = LLVMFuzzerMutate(plain.data(), plain_size, plain.size());
  std::string packed(compressBound(plain_size), '\0');
  auto packed_size = static_cast<uLongf>(packed.size());
  compress(reinterpret_cast<Bytef*>(packed.data()), &packed_size, plain.data(), plain_size);
  file.replace(tag + kTag, size, packed, 0, packed_size);
  write_word(file, tag + 4, is_big_endian, packed_size);
  return true;
}

/// Mutates one of the deflated elements.
bool mutate_element(std::string& file, unsigned choice) {
  if (file.size() < kHeader) return false;
  const bool is_big_endian = file[kHeader - 2] == 'M';
  for (size_t tag = kHeader; file.size() - tag >= kTag;) {
    const size_t size = read_word(file, tag + 4, is_big_endian);
    if (size > file.size() - tag - kTag) return false;
    const bool is_compressed = read_word(file, tag, is_big_endian) == 15;
    if (is_compressed && choice-- % 2 == 0) return mutate_inflated(file, tag, size, is_big_endian);
    tag += kTag + size;
  }
  return false;
}

}  // namespace

/// Without a right checksum no mutated element would inflate.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  std::string file(reinterpret_cast<const char*>(data), size);
  if (seed % 4 == 0 || !mutate_element(file, seed / 4) || file.size() > most)
    return LLVMFuzzerMutate(data, size, most);
  std::copy(file.begin(), file.end(), data);
  return file.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace batchplus;
  static const MemoryFile file;
  file.replace(data, size);
  // Inflated by matio, then copied.
  fuzz::run(size, {2 * kMaximumInflation}, [&] {
    const ImageBytes images = read_svhn_mat(file.path());
    fuzz::check_images(images, 10);
    BATCHPLUS_CHECK(images.channels == 3 && images.height == 32 && images.width == 32, "SVHN is 3 x 32 x 32");
  });
  return 0;
}
