#include "data/image_transform.h"

#include <algorithm>

#include "data/augmentation.h"
#include "data/cutout.h"
#include "kernels/for_this_cpu.h"
#include "util/error.h"

namespace batchplus {
namespace {

constexpr int64_t kGrain = 16;

/// Interleaves the three planes, then normalises eight pixels at a time: 24 floats are whole vectors, where
/// one pixel's three are not. [3][plane] to [plane][3]
void normalize_rgb(const uint8_t* in, int64_t plane, const float* scale, const float* shift, float* out) {
  constexpr int64_t kPixels = 8;
  constexpr int64_t kBlock = 3 * kPixels;
  float scales[kBlock];
  float shifts[kBlock];
  for (int64_t j = 0; j < kBlock; ++j) {
    scales[j] = scale[j % 3];
    shifts[j] = shift[j % 3];
  }
  kernels::for_this_cpu([&]() __attribute__((always_inline)) {
    for (int64_t p = 0; p < plane; p += kPixels) {
      const int64_t count = std::min(kPixels, plane - p);
      uint8_t block[kBlock] = {};
      for (int64_t c = 0; c < 3; ++c) {
        for (int64_t i = 0; i < count; ++i) block[3 * i + c] = in[c * plane + p + i];
      }
      float* __restrict to = out + 3 * p;
      if (count == kPixels) {
        for (int64_t j = 0; j < kBlock; ++j) to[j] = scales[j] * static_cast<float>(block[j]) + shifts[j];
      } else {
        for (int64_t j = 0; j < 3 * count; ++j) to[j] = scales[j] * static_cast<float>(block[j]) + shifts[j];
      }
    }
  });
}

}  // namespace

ImageTransform::ImageTransform(const Normalization& normalization, bool is_augmenting, int64_t cutout)
    : is_augmenting_(is_augmenting), cutout_(cutout) {
  for (size_t c = 0; c < normalization.mean.size(); ++c) {
    scale_.push_back(static_cast<float>(1 / (255 * normalization.std[c])));
    shift_.push_back(static_cast<float>(-normalization.mean[c] / normalization.std[c]));
  }
}

void ImageTransform::apply(const ImageSet& set, std::span<const int64_t> indices, uint64_t seed,
                           uint64_t epoch, const torch::Tensor& out) const {
  at::parallel_for(0, static_cast<int64_t>(indices.size()), kGrain, [&](int64_t begin, int64_t end) {
    apply_serially(set, indices.subspan(begin, end - begin), seed, epoch, out.narrow(0, begin, end - begin));
  });
}

void ImageTransform::apply_serially(const ImageSet& set, std::span<const int64_t> indices, uint64_t seed,
                                    uint64_t epoch, const torch::Tensor& out) const {
  const int64_t channels = set.images.size(1);
  const int64_t height = set.images.size(2);
  const int64_t width = set.images.size(3);
  const int64_t plane = height * width;
  const bool is_planar = out.is_contiguous();
  BATCHPLUS_CHECK(static_cast<int64_t>(scale_.size()) == channels, "one mean and std for each channel");
  BATCHPLUS_CHECK(out.size(0) == static_cast<int64_t>(indices.size()) &&
                      (is_planar || out.is_contiguous(at::MemoryFormat::ChannelsLast)),
                  "the output has room for the samples, in a known memory format");
  const auto* source = set.images.data_ptr<uint8_t>();
  auto* target = out.data_ptr<float>();
  std::vector<uint8_t> augmented(static_cast<size_t>(channels * plane));
  for (size_t i = 0; i < indices.size(); ++i, target += channels * plane) {
    const uint8_t* bytes = source + indices[i] * channels * plane;
    if (is_augmenting_) {
      augment_planes(bytes, draw_augmentation(seed, epoch, indices[i]), channels, height, width,
                     augmented.data());
      bytes = augmented.data();
    }
    if (is_planar) {
      normalize_planes(bytes, plane, target);
    } else {
      normalize_channels_last(bytes, plane, target);
    }
    if (cutout_ == 0) continue;
    const Cutout where = draw_cutout(seed, epoch, indices[i], cutout_, height, width);
    if (is_planar) {
      cut_planes(where, channels, height, width, target);
    } else {
      cut_channels_last(where, channels, width, target);
    }
  }
}

void ImageTransform::normalize_planes(const uint8_t* in, int64_t plane, float* out) const {
  for (size_t c = 0; c < scale_.size(); ++c, in += plane, out += plane) {
    kernels::for_this_cpu([&, scale = scale_[c], shift = shift_[c] ]() __attribute__((always_inline)) {
      const uint8_t* __restrict from = in;
      float* __restrict to = out;
      for (int64_t p = 0; p < plane; ++p) to[p] = scale * static_cast<float>(from[p]) + shift;
    });
  }
}

void ImageTransform::normalize_channels_last(const uint8_t* in, int64_t plane, float* out) const {
  const auto channels = static_cast<int64_t>(scale_.size());
  if (channels == 3) return normalize_rgb(in, plane, scale_.data(), shift_.data(), out);
  for (int64_t p = 0; p < plane; ++p) {
    for (int64_t c = 0; c < channels; ++c)
      out[p * channels + c] = scale_[c] * static_cast<float>(in[c * plane + p]) + shift_[c];
  }
}

}  // namespace batchplus
