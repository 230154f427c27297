#pragma once

#include <string>
#include <vector>

#include "core/torch.h"

namespace batchplus {

/// Labelled images in memory, as the files hold them.
struct ImageSet {
  /// [n,C,H,W], uint8, contiguous.
  torch::Tensor images;
  /// [n], int64.
  torch::Tensor labels;

  int64_t size() const { return images.defined() ? images.size(0) : 0; }
};

/// Channel-wise (pixel / 255 - mean) / std.
struct Normalization {
  std::vector<double> mean;
  std::vector<double> std;
};

struct Dataset {
  std::string name;
  ImageSet train;
  ImageSet test;
  std::vector<std::string> class_names;

  int64_t classes() const { return static_cast<int64_t>(class_names.size()); }
  int64_t channels() const { return train.images.size(1); }
  int64_t height() const { return train.images.size(2); }
  int64_t width() const { return train.images.size(3); }
};

/// Checks what every loader promises: shapes agree and labels lie in 0 .. classes-1. `where` names the
/// source.
void validate(const ImageSet& set, int64_t classes, const std::string& where);

}  // namespace batchplus
