#pragma once

#include <span>

#include "data/dataset.h"

namespace batchplus {

/// Turns bytes into network input: augmentation, then normalisation (so padded pixels are normalised zeros,
/// as RandomCrop -> ToTensor -> Normalize makes them), then cutout (so masked pixels are zeros themselves).
class ImageTransform {
 public:
  /// `cutout`: the side of the square that is masked; 0: none.
  ImageTransform(const Normalization& normalization, bool is_augmenting, int64_t cutout = 0);

  /// The samples of `set` at `indices` into `out`: [N,C,H,W] float32, contiguous or channels-last. What is
  /// drawn for a sample depends on (seed, epoch, its index) alone.
  void apply(const ImageSet& set, std::span<const int64_t> indices, uint64_t seed, uint64_t epoch,
             const torch::Tensor& out) const;

  /// The same on the calling thread alone.
  void apply_serially(const ImageSet& set, std::span<const int64_t> indices, uint64_t seed, uint64_t epoch,
                      const torch::Tensor& out) const;

 private:
  void normalize_planes(const uint8_t* in, int64_t plane, float* out) const;
  void normalize_channels_last(const uint8_t* in, int64_t plane, float* out) const;

  /// Of each channel: (byte / 255 - mean) / std = scale * byte + shift.
  std::vector<float> scale_;
  std::vector<float> shift_;
  bool is_augmenting_;
  int64_t cutout_;
};

}  // namespace batchplus
