#pragma once

#include "core/torch.h"

namespace batchplus {

/// Random vectors: [d] of the type and device of an example, each decided by (seed, what it is for, its
/// number) alone. Nothing is drawn from libtorch's own generators.
class RandomVectors {
 public:
  enum class Use : uint64_t { kLanczos = 1, kTrace = 2, kSharpness = 3 };

  RandomVectors(uint64_t seed, Use use, torch::Tensor like);

  /// Independent N(0, 1) elements.
  torch::Tensor gaussian(int64_t number) const;
  /// Independent elements, +1 or -1 with equal probability.
  torch::Tensor signs(int64_t number) const;

 private:
  at::Generator generator(int64_t number) const;

  uint64_t seed_;
  Use use_;
  torch::Tensor like_;
};

}  // namespace batchplus
