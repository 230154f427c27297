#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "util/error.h"
#include "util/file.h"

namespace batchplus::testing {

/// What became of damaged copies of a file.
struct DamageTally {
  struct Count {
    /// Refused with an Error.
    int64_t noticed = 0;
    /// Read, and what was read is what was written.
    int64_t harmless = 0;
  };
  /// The file ended early.
  Count cut;
  /// Bits of one byte were turned over.
  Count turned;
};

/// Cuts the file short at every offset (every `stride`-th), and turns over one bit, another one and all bits
/// of the byte there. `read` is called for each, and checks that what it reads is as it was written.
inline DamageTally damage_everywhere(const std::filesystem::path& file, size_t stride,
                                     const std::function<void()>& read) {
  const std::string bytes = read_file(file);
  // A new file, because file systems hurry to store one that replaces another's bytes.
  const auto write = [&](const std::string& content) {
    std::filesystem::remove(file);
    std::ofstream(file, std::ios::binary) << content;
  };
  const auto attempt = [&](const std::string& damaged, DamageTally::Count& count) {
    write(damaged);
    try {
      read();
      ++count.harmless;
    } catch (const Error&) {
      ++count.noticed;
    }
  };
  DamageTally tally;
  for (size_t at = 0; at < bytes.size(); at += stride) {
    attempt(bytes.substr(0, at), tally.cut);
    for (const char bits : {'\x01', '\x20', '\xff'}) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ bits);
      attempt(damaged, tally.turned);
    }
  }
  write(bytes);
  return tally;
}

}  // namespace batchplus::testing
