// Prepares samples on demand on one thread, so that a driver can interleave it with others in one run.
//   data_worker
// reads lines "WHAT SAMPLES" and answers each with the seconds that so many samples took, in outer batches of
// 256 drawn at random from 50,000 images of 3x32x32:
//   augmented       mirrored, cropped, normalised, as [N,C,H,W]
//   channels-last   the same as [N,H,W,C]
//   plain           normalised only
//   limit           the same memory traffic without the arithmetic: 3 KiB read, 12 KiB written a sample

#include <cstdio>
#include <cstring>
#include <iostream>
#include <numeric>
#include <string>

#include "core/random_stream.h"
#include "data/image_transform.h"
#include "util/clock.h"

namespace batchplus {
namespace {

constexpr int64_t kImages = 50000;
constexpr int64_t kBatch = 256;
constexpr int64_t kPixels = 3 * 32 * 32;

class DataWorker {
 public:
  DataWorker()
      : set_{torch::randint(0, 256, {kImages, 3, 32, 32}, torch::kUInt8),
             torch::zeros({kImages}, torch::kInt64)},
        order_(random_permutation(kImages, RandomStream(1, RandomPurpose::kOrder))) {}

  double seconds(const std::string& what, int64_t samples) {
    const auto format =
        what == "channels-last" ? torch::MemoryFormat::ChannelsLast : torch::MemoryFormat::Contiguous;
    torch::Tensor out = torch::zeros({kBatch, 3, 32, 32}).contiguous(format);
    const ImageTransform transform({{0.4914, 0.4822, 0.4465}, {0.2470, 0.2435, 0.2616}}, what != "plain");
    const Stopwatch stopwatch;
    for (int64_t done = 0; done < samples; done += kBatch) {
      position_ = (position_ + kBatch) % (kImages - kBatch);
      const std::span<const int64_t> indices(order_.data() + position_, kBatch);
      if (what == "limit") {
        move_bytes(indices, out);
      } else {
        transform.apply_serially(set_, indices, 1, 0, out);
      }
    }
    return stopwatch.seconds();
  }

 private:
  /// Each sample's bytes four times over: a quarter of what is written is read.
  void move_bytes(std::span<const int64_t> indices, const torch::Tensor& out) const {
    const auto* images = set_.images.data_ptr<uint8_t>();
    auto* target = reinterpret_cast<uint8_t*>(out.data_ptr<float>());
    for (const int64_t index : indices) {
      for (int copy = 0; copy < 4; ++copy, target += kPixels)
        std::memcpy(target, images + index * kPixels, kPixels);
    }
  }

  ImageSet set_;
  std::vector<int64_t> order_;
  int64_t position_ = 0;
};

}  // namespace
}  // namespace batchplus

int main() {
  at::set_num_threads(1);
  batchplus::DataWorker worker;
  std::string what;
  int64_t samples = 0;
  while (std::cin >> what >> samples) {
    std::printf("%.9f\n", worker.seconds(what, samples));
    std::fflush(stdout);
  }
}
