#include "data/samples.h"

#include <ATen/ATen.h>

#include <span>

namespace batchplus {

Samples samples_of(ImageView view, const Normalization& normalization, torch::Device device,
                   torch::MemoryFormat memory_format) {
  const int64_t size = view.size();
  const ImageTransform transform(normalization, /*is_augmenting=*/false);
  return {size, [=, view = std::move(view)](int64_t begin, int64_t count) {
            const std::span<const int64_t> indices(view.indices.data() + begin, static_cast<size_t>(count));
            const auto shape = view.set.images.sizes();
            const torch::Tensor images = torch::empty({count, shape[1], shape[2], shape[3]},
                                                      torch::TensorOptions().memory_format(memory_format));
            transform.apply(view.set, indices, /*seed=*/0, /*epoch=*/0, images);
            const torch::Tensor labels = torch::empty({count}, torch::kInt64);
            for (int64_t i = 0; i < count; ++i) {
              labels.data_ptr<int64_t>()[i] = view.set.labels.data_ptr<int64_t>()[indices[i]];
            }
            return Batch{images.to(device), labels.to(device)};
          }};
}

}  // namespace batchplus
