#pragma once

#include <functional>

#include "data/batch_source.h"

namespace batchplus {

/// Samples in a fixed order, to be had in batches of any size.
struct Samples {
  int64_t size = 0;
  /// The samples from `begin` on, as a network takes them.
  std::function<Batch(int64_t begin, int64_t count)> batch;
};

/// The samples of a view, normalised, without augmentation.
Samples samples_of(ImageView view, const Normalization& normalization, torch::Device device = torch::kCPU,
                   torch::MemoryFormat memory_format = torch::MemoryFormat::Contiguous);

}  // namespace batchplus
