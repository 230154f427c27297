#pragma once

#include <cstdint>
#include <functional>

#include "core/torch.h"
#include "group/group.h"

namespace batchplus {

/// Samples that pass in chunks, which the ranks of a group take in turns: rank r has the chunks r, r + N,
/// r + 2N, ... Sums are added chunk by chunk, in double, so that their bits are those of one process. Every
/// call but `number` is made by all ranks.
class SharedChunks {
 public:
  struct Chunk {
    int64_t number = 0;
    int64_t begin = 0;
    int64_t count = 0;
  };
  /// Is told how many samples have passed, on all ranks together, since it was last called.
  using OnSamples = std::function<void(int64_t samples)>;

  /// All chunks have `chunk` samples, but for the last. `group`: null for a process by itself.
  SharedChunks(int64_t samples, int64_t chunk, Group* group);

  int64_t number() const { return (samples_ + chunk_ - 1) / chunk_; }

  /// Shows this rank its chunks.
  void for_each(const std::function<void(const Chunk&)>& pass, const OnSamples& on_samples) const;

  /// The sum of what `pass` returns for each chunk, on all ranks: [d], float64. `like`: [d] is of the same
  /// kind as what it returns.
  torch::Tensor sum(const torch::Tensor& like, const std::function<torch::Tensor(const Chunk&)>& pass,
                    const OnSamples& on_samples) const;

  /// `rows` are `columns` numbers for each chunk, of which this rank has those of its own. Afterwards it has
  /// all.
  void gather(double* rows, int64_t columns) const;

 private:
  int ranks() const { return group_ != nullptr ? group_->size() : 1; }
  int rank() const { return group_ != nullptr ? group_->rank() : 0; }
  int64_t turns() const { return (number() + ranks() - 1) / ranks(); }
  /// Empty behind the last one.
  Chunk chunk(int64_t number) const;
  void tell(int64_t turn, const OnSamples& on_samples) const;

  int64_t samples_;
  int64_t chunk_;
  Group* group_;
};

}  // namespace batchplus
