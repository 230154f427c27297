#pragma once

// What differs between the versions of libtorch, and between the compilers that read its headers, stands here
// and nowhere else.

// Autograd functions. libtorch's `Function::apply` reserves room in an empty std::vector<bool>. GCC 14 takes
// the copy of its old words, of which there are none, for one beyond the new memory.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Warray-bounds"
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#include <torch/csrc/autograd/custom_function.h>
#pragma GCC diagnostic pop

namespace batchplus {

/// libtorch 2.6 asks libuv to serve a store unless told otherwise, and Debian's is built without it.
template <typename StoreOptions>
void do_without_libuv(StoreOptions& options) {
  if constexpr (requires { options.useLibUV; }) options.useLibUV = false;
}

}  // namespace batchplus
