#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace batchplus {

enum class HashKind {
  kSha256,
  /// Only to compare with the checksums that datasets were published with.
  kMd5,
};

/// A digest of a sequence of byte ranges.
class Hash {
 public:
  explicit Hash(HashKind kind = HashKind::kSha256);
  ~Hash();
  Hash(const Hash&) = delete;
  Hash& operator=(const Hash&) = delete;

  void add(const void* bytes, size_t size);
  void add(std::string_view text) { add(text.data(), text.size()); }
  /// The digest in hexadecimal; nothing may be added after it.
  std::string hex();

 private:
  evp_md_ctx_st* context_;
};

std::string sha256_hex(std::string_view bytes);

/// The digest of a file's contents, read piece by piece; an Error when it cannot be read.
std::string hash_file(const std::filesystem::path& path, HashKind kind = HashKind::kSha256);

}  // namespace batchplus
