#include "util/hash.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/evp.h>

#include <array>
#include <fstream>
#include <span>
#include <vector>

#include "util/error.h"

namespace batchplus {

Hash::Hash(HashKind kind) : context_(EVP_MD_CTX_new()) {
  const EVP_MD* algorithm = kind == HashKind::kMd5 ? EVP_md5() : EVP_sha256();
  BATCHPLUS_CHECK(context_ != nullptr && EVP_DigestInit_ex(context_, algorithm, nullptr) == 1,
                  "OpenSSL offers the digest");
}

Hash::~Hash() {
  EVP_MD_CTX_free(context_);
}

void Hash::add(const void* bytes, size_t size) {
  BATCHPLUS_CHECK(EVP_DigestUpdate(context_, bytes, size) == 1, "the digest is still open");
}

std::string Hash::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  BATCHPLUS_CHECK(EVP_DigestFinal_ex(context_, digest.data(), &size) == 1, "the digest is still open");
  return fmt::format("{:02x}", fmt::join(std::span(digest).first(size), ""));
}

std::string sha256_hex(std::string_view bytes) {
  Hash hash;
  hash.add(bytes);
  return hash.hex();
}

std::string hash_file(const std::filesystem::path& path, HashKind kind) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> piece(size_t{1} << 20);
  Hash hash(kind);
  while (file) {
    file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    hash.add(piece.data(), static_cast<size_t>(file.gcount()));
  }
  if (!file.eof())
    throw Error("cannot read file", {path.string(), "", "check that it exists and is readable"});
  return hash.hex();
}

}  // namespace batchplus
