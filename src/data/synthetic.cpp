#include "data/synthetic.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/random_stream.h"

namespace batchplus {
namespace {

constexpr int64_t kTrainSamples = 10000;
constexpr int64_t kTestSamples = 2000;
constexpr int64_t kClasses = 10;
constexpr int64_t kPatternsPerClass = 3;
constexpr int64_t kChannels = 3;
constexpr int64_t kSide = 32;
constexpr int64_t kPixels = kChannels * kSide * kSide;
constexpr int64_t kGridSide = 8;
constexpr int kLargestShift = 4;
constexpr float kPatternStrength = 22;
constexpr float kNoiseStrength = 60;
constexpr float kLabelNoise = 0.1F;
constexpr uint64_t kDataSeed = 20190521;

using Pattern = std::array<float, kPixels>;

/// A coarse grid of uniform numbers in [-1, 1], interpolated bilinearly around the torus.
Pattern make_pattern(uint64_t number) {
  RandomStream stream(kDataSeed, RandomPurpose::kSyntheticData, 0, number);
  std::array<float, kChannels * kGridSide * kGridSide> grid{};
  for (auto& value : grid) value = 2 * stream.next_uniform() - 1;
  Pattern pattern{};
  const float cell = static_cast<float>(kSide) / kGridSide;
  for (int64_t c = 0; c < kChannels; ++c) {
    for (int64_t y = 0; y < kSide; ++y) {
      for (int64_t x = 0; x < kSide; ++x) {
        const float gy = static_cast<float>(y) / cell;
        const float gx = static_cast<float>(x) / cell;
        const auto y0 = static_cast<int64_t>(gy);
        const auto x0 = static_cast<int64_t>(gx);
        const auto at = [&](int64_t j, int64_t i) {
          return grid[(c * kGridSide + j % kGridSide) * kGridSide + i % kGridSide];
        };
        const float fy = gy - static_cast<float>(y0);
        const float fx = gx - static_cast<float>(x0);
        pattern[(c * kSide + y) * kSide + x] = (1 - fy) * ((1 - fx) * at(y0, x0) + fx * at(y0, x0 + 1)) +
                                               fy * ((1 - fx) * at(y0 + 1, x0) + fx * at(y0 + 1, x0 + 1));
      }
    }
  }
  return pattern;
}

/// Nearly normal with mean 0 and standard deviation 1: the sum of the four bytes of a random word.
float noise(RandomStream& stream) {
  const uint32_t word = stream.next_u32();
  const uint32_t sum = (word & 0xff) + (word >> 8 & 0xff) + (word >> 16 & 0xff) + (word >> 24);
  constexpr float kMean = 4 * 127.5F;
  constexpr float kStandardDeviation = 147.8F;  // sqrt(4 * (256^2 - 1) / 12)
  return (static_cast<float>(sum) - kMean) / kStandardDeviation;
}

void draw_sample(RandomStream& stream, const Pattern& pattern, uint8_t* pixels) {
  const int64_t dy = kSide + stream.next_below(2 * kLargestShift + 1) - kLargestShift;
  const int64_t dx = kSide + stream.next_below(2 * kLargestShift + 1) - kLargestShift;
  const float strength = kPatternStrength * (0.5F + stream.next_uniform());
  for (int64_t c = 0; c < kChannels; ++c) {
    for (int64_t y = 0; y < kSide; ++y) {
      for (int64_t x = 0; x < kSide; ++x) {
        const float signal = pattern[(c * kSide + (y + dy) % kSide) * kSide + (x + dx) % kSide];
        const float value = 127.5F + strength * signal + kNoiseStrength * noise(stream);
        *pixels++ = static_cast<uint8_t>(std::clamp(std::lround(value), 0L, 255L));
      }
    }
  }
}

ImageSet make_set(const std::vector<Pattern>& patterns, int64_t samples, uint64_t which, float label_noise) {
  ImageSet set{torch::empty({samples, kChannels, kSide, kSide}, torch::kUInt8),
               torch::empty({samples}, torch::kInt64)};
  auto* pixels = set.images.data_ptr<uint8_t>();
  auto* labels = set.labels.data_ptr<int64_t>();
  at::parallel_for(0, samples, 64, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      RandomStream stream(kDataSeed, RandomPurpose::kSyntheticData, which, static_cast<uint64_t>(i));
      const int64_t label = i % kClasses;
      const int64_t pattern = label * kPatternsPerClass + stream.next_below(kPatternsPerClass);
      const bool is_mislabelled = stream.next_uniform() < label_noise;
      const int64_t other = stream.next_below(kClasses);
      labels[i] = is_mislabelled ? other : label;
      draw_sample(stream, patterns[pattern], pixels + i * kPixels);
    }
  });
  return set;
}

}  // namespace

Dataset make_synthetic() {
  std::vector<Pattern> patterns;
  for (int64_t p = 0; p < kClasses * kPatternsPerClass; ++p) patterns.push_back(make_pattern(p));
  Dataset dataset;
  for (int64_t c = 0; c < kClasses; ++c) dataset.class_names.push_back(fmt::format("class {}", c));
  dataset.train = make_set(patterns, kTrainSamples, 1, kLabelNoise);
  dataset.test = make_set(patterns, kTestSamples, 2, 0);
  return dataset;
}

}  // namespace batchplus
