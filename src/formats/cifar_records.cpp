#include "formats/cifar_records.h"

#include <fmt/format.h>

#include "util/error.h"

namespace batchplus {
namespace {

constexpr size_t kPixelBytes = 3 * 32 * 32;

}  // namespace

void append_cifar_records(std::string_view bytes, const CifarLabels& layout, const std::string& where,
                          ImageBytes& images) {
  const size_t record_bytes = layout.size() + kPixelBytes;
  if (bytes.empty() || bytes.size() % record_bytes != 0) {
    throw Error(
        "truncated CIFAR file",
        {fmt::format("{}, offset {}", where, bytes.size() / record_bytes * record_bytes),
         fmt::format("{} bytes", bytes.size()),
         fmt::format("the size must be a multiple of {} bytes; fetch the dataset again", record_bytes)});
  }
  images.channels = 3;
  images.height = images.width = 32;
  for (size_t begin = 0; begin < bytes.size(); begin += record_bytes) {
    const std::string_view record = bytes.substr(begin, record_bytes);
    for (size_t i = 0; i < layout.size(); ++i)
      require_label(static_cast<uint8_t>(record[i]), layout[i], where, static_cast<int64_t>(begin + i));
    images.labels.push_back(static_cast<uint8_t>(record[layout.size() - 1]));
    images.pixels.insert(images.pixels.end(), record.begin() + static_cast<std::ptrdiff_t>(layout.size()),
                         record.end());
  }
}

}  // namespace batchplus
