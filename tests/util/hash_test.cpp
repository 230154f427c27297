#include "util/hash.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/scratch.h"

namespace batchplus {
namespace {

// The vectors of FIPS 180-2, appendix B.
TEST(Sha256, HasThePublishedDigests) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Sha256, DoesNotDependOnHowTheBytesArrive) {
  Hash hash;
  hash.add("a");
  hash.add("");
  hash.add("bc");
  EXPECT_EQ(hash.hex(), sha256_hex("abc"));
}

// RFC 1321, appendix A.5.
TEST(Md5, HasThePublishedDigests) {
  Hash hash(HashKind::kMd5);
  hash.add("message digest");
  EXPECT_EQ(hash.hex(), "f96b697d7cb7938d525a2f31aaf161d0");
}

TEST(HashFile, EqualsTheHashOfTheBytesInMemory) {
  const testing::Scratch scratch;
  const std::string bytes((size_t{1} << 20) + 17, 'x');  // more than one piece
  write_file_atomically(scratch / "file", bytes);
  EXPECT_EQ(hash_file(scratch / "file"), sha256_hex(bytes));
  testing::expect_error([&] { hash_file(scratch / "none"); }, {"cannot read file", "none"});
}

}  // namespace
}  // namespace batchplus
