#include "formats/cifar_records.h"
#include "fuzz/fuzz.h"
#include "util/error.h"

/// A byte that chooses the layout (odd: CIFAR-100), then the records.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace batchplus;
  if (size == 0) return 0;
  const CifarLabels& layout = data[0] % 2 == 0 ? kCifar10Labels : kCifar100Labels;
  // The records and a growing vector's two copies.
  fuzz::run(size, {8}, [&] {
    ImageBytes images;
    append_cifar_records(fuzz::text(data + 1, size - 1), layout, "fuzz", images);
    fuzz::check_images(images, layout.back());
    BATCHPLUS_CHECK(images.pixels.size() + images.labels.size() * layout.size() == size - 1,
                    "every byte is a label or a pixel");
  });
  return 0;
}
