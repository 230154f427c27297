#include "kernels/scratch.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace batchplus::kernels {

Scratch::~Scratch() {
  std::free(data_);
}

float* Scratch::floats(int64_t count) {
  const auto bytes = static_cast<size_t>(count) * sizeof(float);
  if (bytes <= bytes_) return data_;
  constexpr size_t kHugePage = size_t{2} << 20;
  constexpr size_t kLine = 64;
  const size_t alignment = bytes >= kHugePage ? kHugePage : kLine;
  std::free(data_);
  bytes_ = (bytes + alignment - 1) / alignment * alignment;
  data_ = static_cast<float*>(std::aligned_alloc(alignment, bytes_));
  if (data_ == nullptr) throw std::bad_alloc();
  // A request only: without huge pages it works as well, a little slower.
  if (alignment == kHugePage) ::madvise(data_, bytes_, MADV_HUGEPAGE);
  return data_;
}

}  // namespace batchplus::kernels
