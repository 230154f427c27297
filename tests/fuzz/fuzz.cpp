#include "fuzz/fuzz.h"

#include <fmt/format.h>
#include <sanitizer/allocator_interface.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "util/error.h"

namespace batchplus::fuzz {
namespace {

/// Bytes allocated by this process and by the libraries it calls, since run() began.
std::atomic<int64_t> live_bytes{0};
std::atomic<int64_t> most_live_bytes{0};

void on_malloc(const volatile void* /*block*/, size_t size) {
  const int64_t live = live_bytes += static_cast<int64_t>(size);
  // Threads other than libFuzzer's one are not started by parsers, so nothing is lost between these two.
  most_live_bytes = std::max<int64_t>(most_live_bytes, live);
}

void on_free(const volatile void* block) {
  if (block != nullptr)
    live_bytes -= static_cast<int64_t>(__sanitizer_get_allocated_size(const_cast<const void*>(block)));
}

void start_counting() {
  static const int hooks = __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
  BATCHPLUS_CHECK(hooks != 0, "the sanitizer has room for our hooks beside libFuzzer's");
  live_bytes = 0;
  most_live_bytes = 0;
}

}  // namespace

void run(size_t size, Allowance allowance, const std::function<void()>& parse) {
  start_counting();
  try {
    parse();
  } catch (const Error&) {
  }
  const int64_t most = allowance.fixed + allowance.per_byte * static_cast<int64_t>(size);
  if (most_live_bytes <= most) return;
  fmt::print(stderr, "batchplus: {} bytes allocated at once for an input of {} bytes; {} are allowed\n",
             most_live_bytes.load(), size, most);
  std::abort();
}

void check_images(const ImageBytes& images, int64_t classes) {
  BATCHPLUS_CHECK(images.size() > 0, "a file without images is refused");
  const int64_t image_bytes = images.channels * images.height * images.width;
  BATCHPLUS_CHECK(image_bytes > 0, "an image has pixels");
  BATCHPLUS_CHECK(static_cast<int64_t>(images.pixels.size()) == images.size() * image_bytes,
                  "pixels are [n][C][H][W]");
  for (const int64_t label : images.labels)
    BATCHPLUS_CHECK(label >= 0 && label < classes, "labels are classes");
}

}  // namespace batchplus::fuzz
