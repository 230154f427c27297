#pragma once

#include <optional>
#include <vector>

#include "core/flat_parameters.h"
#include "group/background_sums.h"
#include "group/group.h"

namespace batchplus {

/// Adds a gradient up over the ranks of a group. Those of large parameters are on their way as soon as the
/// backward pass has written them, while it computes those of earlier layers; the others follow after it. The
/// bits are those of one Group::sum over all of it.
class GradientSum {
 public:
  /// 1 MiB. Fewer bytes take less time than a message of their own.
  static constexpr int64_t kEarlyElements = int64_t{1} << 18;

  /// `gradient`: [d]. Where the group has no companion, all of it is added up at the end.
  GradientSum(Group& group, const FlatParameters& parameters, torch::Tensor gradient, int64_t early_elements);

  /// For the GradientTarget of the backward pass. Empty where nothing is added up early.
  GradientTarget::Listener listener();

  /// After the backward pass, which handed out `gradients`: one for each parameter. They have been gathered.
  void finish(const std::vector<torch::Tensor>& gradients);

 private:
  struct Large {
    size_t parameter = 0;
    int64_t offset = 0;
    int64_t count = 0;
    bool is_begun = false;
  };
  float* values() const { return gradient_.data_ptr<float>(); }
  void begin(Large& large);
  void sum_small_ones();

  Group& group_;
  torch::Tensor gradient_;
  /// In the order of their offsets.
  std::vector<Large> large_;
  /// Last, so that nobody uses the gradient any more when the rest goes.
  std::optional<BackgroundSums> early_;
};

}  // namespace batchplus
