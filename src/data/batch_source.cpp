#include "data/batch_source.h"

#include <algorithm>
#include <numeric>

#include "core/random_stream.h"
#include "data/mixup.h"
#include "util/error.h"

namespace batchplus {

OuterBatch::OuterBatch(torch::Tensor images, torch::Tensor labels, int64_t inner_size,
                       std::vector<uint64_t> replay_seeds, std::optional<Mixed> mixed)
    : images_(std::move(images)),
      labels_(std::move(labels)),
      inner_size_(inner_size),
      replay_seeds_(std::move(replay_seeds)),
      mixed_(std::move(mixed)) {
  BATCHPLUS_CHECK(static_cast<int64_t>(replay_seeds_.size()) == inner_batches() + (has_remainder() ? 1 : 0),
                  "one replay seed for each batch");
}

Batch OuterBatch::inner(int64_t t) const {
  return slice(t, inner_size_);
}

Batch OuterBatch::remainder() const {
  return slice(inner_batches(), size() % inner_size_);
}

Batch OuterBatch::slice(int64_t number, int64_t count) const {
  const int64_t begin = number * inner_size_;
  Batch batch{images_.narrow(0, begin, count), labels_.narrow(0, begin, count), replay_seeds_[number]};
  if (mixed_) {
    batch.partner_labels = mixed_->partner_labels.narrow(0, begin, count);
    batch.label_share = mixed_->label_shares[number];
  }
  return batch;
}

BatchSource::BatchSource(ImageView view, ImageTransform transform, Options options)
    : view_(std::move(view)), transform_(std::move(transform)), options_(options) {
  BATCHPLUS_CHECK(options_.inner_size >= 1 && options_.inner_size <= view_.size(), "1 <= b <= n");
}

void BatchSource::begin_epoch(int64_t epoch, int64_t outer_size) {
  BATCHPLUS_CHECK(outer_size >= options_.inner_size && outer_size <= view_.size(), "b <= B <= n");
  epoch_ = epoch;
  outer_size_ = outer_size;
  const int64_t n = view_.size();
  const bool is_pass = options_.sampling != Sampling::kIndependent;
  const bool has_tail = is_pass && n % outer_size >= options_.inner_size;
  outer_batches_ = n / outer_size + (has_tail ? 1 : 0);
  if (options_.sampling == Sampling::kEpoch) {
    order_ = random_permutation(
        n, RandomStream(options_.seed, RandomPurpose::kOrder, static_cast<uint64_t>(epoch)));
  } else {
    order_.resize(static_cast<size_t>(n));
    std::iota(order_.begin(), order_.end(), int64_t{0});
  }
}

int64_t BatchSource::outer_batch_size(int64_t i) const {
  return std::min(outer_size_, view_.size() - i * outer_size_);
}

std::vector<int64_t> BatchSource::positions(int64_t i) const {
  if (options_.sampling == Sampling::kIndependent) {
    return random_subset(view_.size(), outer_size_,
                         RandomStream(options_.seed, RandomPurpose::kOrder, static_cast<uint64_t>(epoch_),
                                      static_cast<uint64_t>(i) + 1));
  }
  const auto begin = order_.begin() + i * outer_size_;
  return {begin, begin + outer_batch_size(i)};
}

void BatchSource::reserve(BatchBuffer& buffer) const {
  if (buffer.images.defined() && buffer.images.size(0) >= outer_size_) return;
  const auto shape = view_.set.images.sizes();
  const auto options = torch::TensorOptions().pinned_memory(options_.device.is_cuda());
  buffer.images = torch::empty({outer_size_, shape[1], shape[2], shape[3]},
                               options.dtype(torch::kFloat32).memory_format(options_.memory_format));
  buffer.labels = torch::empty({outer_size_}, options.dtype(torch::kInt64));
}

std::optional<OuterBatch::Mixed> BatchSource::mix_inner_batches(int64_t i, const torch::Tensor& images,
                                                                const torch::Tensor& labels) const {
  if (options_.mixup == 0) return std::nullopt;
  OuterBatch::Mixed mixed{torch::empty_like(labels), {}};
  const int64_t size = labels.size(0);
  for (int64_t begin = 0; begin < size; begin += options_.inner_size) {
    const int64_t count = std::min(options_.inner_size, size - begin);
    const Mixing mixing = draw_mixing(options_.mixup, options_.seed, static_cast<uint64_t>(epoch_),
                                      static_cast<uint64_t>(i * outer_size_ + begin), count);
    mix(mixing, images.narrow(0, begin, count));
    for (int64_t s = 0; s < count; ++s) {
      mixed.partner_labels.data_ptr<int64_t>()[begin + s] =
          labels.data_ptr<int64_t>()[begin + mixing.partners[s]];
    }
    mixed.label_shares.push_back(mixing.share);
  }
  return mixed;
}

OuterBatch BatchSource::outer_batch(int64_t i) const {
  BatchBuffer buffer;
  return outer_batch(i, buffer);
}

OuterBatch BatchSource::outer_batch(int64_t i, BatchBuffer& buffer, Threads threads) const {
  BATCHPLUS_CHECK(i >= 0 && i < outer_batches_, "the epoch has that outer batch");
  reserve(buffer);
  std::vector<int64_t> indices = positions(i);
  const auto size = static_cast<int64_t>(indices.size());
  const torch::Tensor images = buffer.images.narrow(0, 0, size);
  const torch::Tensor labels = buffer.labels.narrow(0, 0, size);
  const auto* all_labels = view_.set.labels.data_ptr<int64_t>();
  for (int64_t s = 0; s < size; ++s) {
    indices[s] = view_.indices[indices[s]];
    labels.data_ptr<int64_t>()[s] = all_labels[indices[s]];
  }
  const auto transform = threads == Threads::kAll ? &ImageTransform::apply : &ImageTransform::apply_serially;
  (transform_.*transform)(view_.set, indices, options_.seed, static_cast<uint64_t>(epoch_), images);

  std::optional<OuterBatch::Mixed> mixed = mix_inner_batches(i, images, labels);

  // Keyed by where the inner batch begins in the epoch: the same for every B that puts it there.
  std::vector<uint64_t> replay_seeds;
  for (int64_t begin = 0; begin < size; begin += options_.inner_size) {
    RandomStream stream(options_.seed, RandomPurpose::kDropout, static_cast<uint64_t>(epoch_),
                        static_cast<uint64_t>(i * outer_size_ + begin));
    replay_seeds.push_back(stream.next_u64());
  }
  const auto on_device = [&](const torch::Tensor& tensor) {
    return tensor.to(options_.device, /*non_blocking=*/options_.device.is_cuda());
  };
  if (mixed) mixed->partner_labels = on_device(mixed->partner_labels);
  return OuterBatch(on_device(images), on_device(labels), options_.inner_size, std::move(replay_seeds),
                    std::move(mixed));
}

}  // namespace batchplus
