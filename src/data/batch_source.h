#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/image_transform.h"
#include "data/image_view.h"

namespace batchplus {

/// Samples of one gradient computation.
struct Batch {
  /// [N,C,H,W], float32, normalised.
  torch::Tensor images;
  /// [N], int64.
  torch::Tensor labels;
  /// Seeds dropout: the same batch meets the same masks whenever and wherever its gradient is taken.
  uint64_t replay_seed = 0;
  /// With mixup, the labels of the samples that are mixed in: [N]; else undefined.
  torch::Tensor partner_labels = {};
  /// What each label counts; its partner counts the rest.
  double label_share = 1;

  int64_t size() const { return images.size(0); }
};

/// An outer batch I with its pixels drawn once; the inner batches are views of it.
class OuterBatch {
 public:
  /// How mixup mixed the inner batches, and the remainder last.
  struct Mixed {
    /// [B].
    torch::Tensor partner_labels;
    std::vector<double> label_shares;
  };

  OuterBatch(torch::Tensor images, torch::Tensor labels, int64_t inner_size,
             std::vector<uint64_t> replay_seeds, std::optional<Mixed> mixed = std::nullopt);

  /// B.
  int64_t size() const { return images_.size(0); }
  /// K = floor(B / b).
  int64_t inner_batches() const { return size() / inner_size_; }
  /// B - K b samples that count in mu and make no step.
  bool has_remainder() const { return size() % inner_size_ != 0; }
  /// I[t b : (t+1) b] for t = 0 .. K-1.
  Batch inner(int64_t t) const;
  Batch remainder() const;

 private:
  /// The batch with that number: an inner one, or behind them the remainder.
  Batch slice(int64_t number, int64_t count) const;

  torch::Tensor images_;
  torch::Tensor labels_;
  int64_t inner_size_;
  std::vector<uint64_t> replay_seeds_;
  std::optional<Mixed> mixed_;
};

/// Host memory for an outer batch, allocated when first needed and then reused.
struct BatchBuffer {
  torch::Tensor images;
  torch::Tensor labels;
};

/// Which threads make a batch.
enum class Threads { kAll, kCaller };

enum class Sampling { kEpoch, kIndependent, kSequential };

/// Cuts the training samples of an epoch into outer batches.
///   epoch        a shuffled pass
///   sequential   a pass in file order
///   independent  each outer batch drawn afresh, without replacement within it
/// A pass that B does not divide ends with a shorter outer batch if that holds at least one inner batch; what
/// is left of less than b samples is not used, so every method takes floor(n/b) inner steps an epoch when b
/// divides B.
class BatchSource {
 public:
  struct Options {
    uint64_t seed = 0;
    Sampling sampling = Sampling::kEpoch;
    int64_t inner_size = 1;
    torch::Device device = torch::kCPU;
    /// alpha of mixup; 0: none.
    double mixup = 0;
    /// As the network wants its input.
    torch::MemoryFormat memory_format = torch::MemoryFormat::Contiguous;
  };

  BatchSource(ImageView view, ImageTransform transform, Options options);
  const Options& options() const { return options_; }

  /// Fixes order and outer batch size B until the next call. Depends on (seed, epoch) alone.
  void begin_epoch(int64_t epoch, int64_t outer_size);
  int64_t outer_batches() const { return outer_batches_; }
  /// B of the i-th outer batch: the last one may be shorter.
  int64_t outer_batch_size(int64_t i) const;
  /// In memory of its own.
  OuterBatch outer_batch(int64_t i) const;
  /// In `buffer`'s memory, if the device is the CPU: what was there before is overwritten.
  OuterBatch outer_batch(int64_t i, BatchBuffer& buffer, Threads threads = Threads::kAll) const;

  int64_t samples() const { return view_.size(); }

 private:
  std::vector<int64_t> positions(int64_t i) const;
  /// Mixes the inner batches of the i-th outer batch in place.
  std::optional<OuterBatch::Mixed> mix_inner_batches(int64_t i, const torch::Tensor& images,
                                                     const torch::Tensor& labels) const;
  void reserve(BatchBuffer& buffer) const;

  ImageView view_;
  ImageTransform transform_;
  Options options_;
  int64_t epoch_ = 0;
  int64_t outer_size_ = 0;
  int64_t outer_batches_ = 0;
  std::vector<int64_t> order_;
};

}  // namespace batchplus
