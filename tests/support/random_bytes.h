#pragma once

#include <random>
#include <string>

namespace batchplus::testing {

/// The same for the same seed.
inline std::string random_bytes(size_t size, uint32_t seed = 1) {
  std::mt19937 generator(seed);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(generator() & 0xff);
  return bytes;
}

}  // namespace batchplus::testing
