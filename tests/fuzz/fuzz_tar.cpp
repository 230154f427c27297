#include <cstdio>
#include <cstring>

#include "formats/archive.h"
#include "fuzz/fuzz.h"
#include "util/error.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

namespace {

constexpr size_t kBlock = 512;

/// The sum that a tar header carries of its bytes, its own eight taken as spaces.
void repair_checksum(uint8_t* header) {
  constexpr size_t kBegin = 148;
  constexpr size_t kBytes = 8;
  std::memset(header + kBegin, ' ', kBytes);
  unsigned sum = 0;
  for (size_t i = 0; i < kBlock; ++i) sum += header[i];
  std::snprintf(reinterpret_cast<char*>(header + kBegin), kBytes, "%06o", sum);
}

}  // namespace

/// Without a right checksum no mutated header would get further.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  size = LLVMFuzzerMutate(data, size, most);
  if (seed % 4 == 0) return size;
  for (size_t block = 0; block + kBlock <= size; block += kBlock)
    if (std::memcmp(data + block + 257, "ustar", 5) == 0) repair_checksum(data + block);
  return size;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace batchplus;
  static const std::set<std::string> wanted = {"data_batch_1.bin", "test_batch.bin"};
  fuzz::run(size, {3 * kMaximumInflation}, [&] {
    const ArchiveFiles files = read_tar(fuzz::text(data, size), wanted, "fuzz");
    BATCHPLUS_CHECK(files.size() == wanted.size(), "all wanted files are there, and no other");
    for (const auto& [name, content] : files) {
      BATCHPLUS_CHECK(wanted.contains(name), "only wanted files are read");
      BATCHPLUS_CHECK(content.size() <= size * kMaximumInflation,
                      "no file is larger than deflate can make it");
    }
  });
  return 0;
}
