#include "util/hash.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <span>

#include "util/error.h"

namespace batchplus {

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  BATCHPLUS_CHECK(context_ != nullptr && EVP_DigestInit_ex(context_, EVP_sha256(), nullptr) == 1,
                  "OpenSSL offers SHA-256");
}

Sha256::~Sha256() {
  EVP_MD_CTX_free(context_);
}

void Sha256::add(const void* bytes, size_t size) {
  BATCHPLUS_CHECK(EVP_DigestUpdate(context_, bytes, size) == 1, "the digest is still open");
}

std::string Sha256::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  BATCHPLUS_CHECK(EVP_DigestFinal_ex(context_, digest.data(), &size) == 1, "the digest is still open");
  return fmt::format("{:02x}", fmt::join(std::span(digest).first(size), ""));
}

std::string sha256_hex(std::string_view bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.hex();
}

}  // namespace batchplus
