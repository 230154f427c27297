#pragma once

#include <string>
#include <vector>

#include "core/torch.h"
#include "datasets/normalization.h"
#include "formats/image_bytes.h"

namespace batchplus {

/// Labelled images in memory, as the files hold them.
struct ImageSet {
  /// [n,C,H,W], uint8, contiguous.
  torch::Tensor images;
  /// [n], int64.
  torch::Tensor labels;

  int64_t size() const { return images.defined() ? images.size(0) : 0; }
};

/// Tensors over the same memory.
ImageSet to_image_set(ImageBytes bytes);

/// Mean and standard deviation of each channel over all pixels of the set.
Normalization measure_normalization(const ImageSet& set);

struct Dataset {
  std::string name;
  ImageSet train;
  ImageSet test;
  std::vector<std::string> class_names;
  /// What `--normalize auto` means.
  Normalization normalization;
  /// How far its files are known to be right: "official", "as fetched" or "layout" (Verification), or "made
  /// in memory".
  std::string verified;

  int64_t classes() const { return static_cast<int64_t>(class_names.size()); }
  int64_t channels() const { return train.images.size(1); }
  int64_t height() const { return train.images.size(2); }
  int64_t width() const { return train.images.size(3); }
};

}  // namespace batchplus
