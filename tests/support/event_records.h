#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace batchplus::testing {

// An independent reader, from the published description of TFRecord files: no code of the writer, of protobuf
// or of Boost.

/// CRC-32C bit by bit.
inline uint32_t slow_crc32c(std::string_view bytes) {
  uint32_t crc = ~0U;
  for (const char byte : bytes) {
    crc ^= static_cast<uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78U : 0);
  }
  return ~crc;
}

inline uint64_t fixed(std::string_view bytes, size_t size) {
  uint64_t value = 0;
  for (size_t i = size; i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes.at(i));
  return value;
}

inline bool is_masked_crc(uint64_t stored, std::string_view bytes) {
  const uint32_t rotated = static_cast<uint32_t>(stored) - 0xa282ead8;
  return ((rotated << 15) | (rotated >> 17)) == slow_crc32c(bytes);
}

/// The messages of a file; nothing when it is cut short or a checksum is wrong.
inline std::optional<std::vector<std::string>> event_messages(std::string_view file) {
  constexpr size_t kLength = 8;
  constexpr size_t kSum = 4;
  std::vector<std::string> messages;
  while (!file.empty()) {
    if (file.size() < kLength + kSum) return std::nullopt;
    const uint64_t size = fixed(file, kLength);
    if (!is_masked_crc(fixed(file.substr(kLength), kSum), file.substr(0, kLength))) return std::nullopt;
    file.remove_prefix(kLength + kSum);
    if (file.size() < kSum || file.size() - kSum < size) return std::nullopt;
    const std::string_view message = file.substr(0, size);
    if (!is_masked_crc(fixed(file.substr(size), kSum), message)) return std::nullopt;
    messages.emplace_back(message);
    file.remove_prefix(size + kSum);
  }
  return messages;
}

}  // namespace batchplus::testing
