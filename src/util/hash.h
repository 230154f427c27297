#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace batchplus {

/// SHA-256 of a sequence of byte ranges.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void add(const void* bytes, size_t size);
  void add(std::string_view text) { add(text.data(), text.size()); }
  /// The digest in hexadecimal; nothing may be added after it.
  std::string hex();

 private:
  evp_md_ctx_st* context_;
};

std::string sha256_hex(std::string_view bytes);

}  // namespace batchplus
