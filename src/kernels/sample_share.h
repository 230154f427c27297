#pragma once

#include <cstdint>

#include "kernels/parts.h"

namespace batchplus::kernels {

/// Says that the samples at hand are a share of a batch whose other shares other processes have. Kernels that
/// sum over samples ask for it: for some of the sums the shares have to meet at once, others are left to
/// whoever adds up the gradients.
class SampleShare {
 public:
  enum class Sums {
    /// All sums meet within the kernels, in the order in which one process would have added them.
    kExact,
    /// Gradients of parameters are those of the share alone, to be added up later. What is the same on all
    /// ranks already counts on the first one only, and is zero on the others.
    kLater,
  };

  /// Whose moments BatchNorm normalises a share by. Those of the share's own samples need sums that are added
  /// up later.
  enum class Moments { kOfBatch, kOfShare };

  /// Of `whole` samples this is share `rank` of `ranks`, those from whole * rank / ranks on.
  SampleShare(int64_t whole, int rank, int ranks, Sums sums, Moments moments = Moments::kOfBatch)
      : whole_(whole), rank_(rank), ranks_(ranks), sums_(sums), moments_(moments) {}
  virtual ~SampleShare() = default;
  SampleShare(const SampleShare&) = delete;
  SampleShare& operator=(const SampleShare&) = delete;

  /// Whether so many samples can be shared out. The parts of a sum have to fall to the ranks as whole
  /// subtrees for exact sums.
  static bool is_possible(int64_t whole, int ranks, Sums sums);

  int64_t whole() const { return whole_; }
  bool is_first() const { return rank_ == 0; }
  bool is_exact() const { return sums_ == Sums::kExact; }
  bool has_own_moments() const { return moments_ == Moments::kOfShare; }
  /// The share of `count` things that falls to this rank; samples and others alike.
  int64_t begin(int64_t count) const { return count * rank_ / ranks_; }
  int64_t end(int64_t count) const { return count * (rank_ + 1) / ranks_; }
  /// The parts of a sum over this share's samples, which are parts of that over all.
  Parts parts(int64_t most) const { return Parts(whole_, most, rank_, ranks_); }

  /// Sums over the share become sums over the batch.
  virtual void add(float* sums, int64_t count) = 0;
  virtual void add(double* sums, int64_t count) = 0;
  /// Each rank has its share of `count` things in place; afterwards all have all of them.
  virtual void gather(void* all, int64_t count, int64_t bytes_each) = 0;
  /// What the first rank has.
  virtual void broadcast(float* values, int64_t count) = 0;

  /// The share that this thread computes with; null where it has the whole batch.
  static SampleShare* current();

  /// Makes a share the current one until the end of the scope; null: none.
  class Scope {
   public:
    explicit Scope(SampleShare* share);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    SampleShare* outer_;
  };

 private:
  int64_t whole_;
  int rank_;
  int ranks_;
  Sums sums_;
  Moments moments_;
};

/// The share if exact sums are wanted of this thread, else null.
SampleShare* exact_share();

/// The share that meets the others for BatchNorm's moments; null where the samples at hand have their own.
SampleShare* share_for_moments();

/// How many samples the batch has of which these are all, or a share.
int64_t whole_samples(int64_t samples);

/// How a sum over these samples is cut into parts; see Parts.
Parts sample_parts(int64_t samples, int64_t most = Parts::kMost);

/// Parts of a sum, `floats` each, one behind the other. With exact shares they become one part, the sum over
/// the batch. Returns how many there are then.
int64_t meet_parts(float* parts, int64_t floats, int64_t number);

}  // namespace batchplus::kernels
