#include "core/memory.h"

#include <malloc.h>

namespace batchplus {

void keep_freed_memory() {
  constexpr int kOneGibibyte = 1 << 30;
  constexpr int kHeadroom = 64 << 20;
  ::mallopt(M_MMAP_THRESHOLD, kOneGibibyte);
  ::mallopt(M_TRIM_THRESHOLD, kOneGibibyte);
  ::mallopt(M_TOP_PAD, kHeadroom);
}

}  // namespace batchplus
