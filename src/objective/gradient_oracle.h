#pragma once

#include <cmath>

#include "core/flat_parameters.h"
#include "core/gradient_budget.h"
#include "data/batch_source.h"
#include "networks/model.h"
#include "objective/shared_batch.h"

namespace batchplus {

/// Hands out mini-batch gradients and counts them. The only caller of a training backward pass and the only
/// charger of the budget.
///
/// Every gradient is the mean over its batch, without weight decay, in training mode. Dropout is seeded by
/// the batch, so the same batch meets the same masks at every point. A first computation moves BatchNorm's
/// running statistics; a replay gives the same gradient and moves nothing.
class GradientOracle {
 public:
  /// What may differ between trainings.
  struct Options {
    /// Of the loss that is trained (objective/loss.h); evaluation knows none.
    double label_smoothing = 0;
    /// With whom each batch is shared out; the gradients are those of the whole batch. Own kernels only.
    Sharing sharing = {};
  };

  GradientOracle(Model model, FlatParameters& parameters, GradientBudget& budget, Options options);
  GradientOracle(Model model, FlatParameters& parameters, GradientBudget& budget)
      : GradientOracle(std::move(model), parameters, budget, Options()) {}

  /// A vector for a gradient: [d].
  torch::Tensor make_vector() const { return torch::empty_like(parameters_.values()); }
  FlatParameters& parameters() { return parameters_; }

  /// gradient = (1/N) sum_i grad f_i(w) at the present parameters w. Charges N samples.
  void gradient(const Batch& batch, const torch::Tensor& gradient);

  /// The same at `point`: [d]; w is as before afterwards.
  void gradient_at(const torch::Tensor& point, const Batch& batch, const torch::Tensor& gradient);

  /// A gradient at `point` that was computed before: BatchNorm's statistics stay as they are. Charges N
  /// samples.
  void replay_gradient_at(const torch::Tensor& point, const Batch& batch, const torch::Tensor& gradient);

  /// Runs forward in training mode, only to move BatchNorm's statistics. No gradient is charged.
  void move_statistics(const Batch& batch);

  /// Losses of the samples of all first gradients since take_mean_loss, added up.
  struct LossSum {
    double sum = 0;
    int64_t samples = 0;
  };
  const LossSum& loss_sum() const { return losses_; }
  void set_loss_sum(const LossSum& losses) { losses_ = losses; }
  /// Whether all of them were finite.
  bool has_finite_loss() const { return std::isfinite(losses_.sum); }

  /// Their mean, and begins a new sum; NaN when there were none.
  double take_mean_loss();

 private:
  void compute(const Batch& batch, const torch::Tensor& gradient, bool is_replay);
  void compute_at(const torch::Tensor& point, const Batch& batch, const torch::Tensor& gradient,
                  bool is_replay);

  Model model_;
  /// By which the loss is computed: those of the model when the oracle was made.
  Kernels kernels_;
  FlatParameters& parameters_;
  GradientBudget& budget_;
  Options options_;
  torch::Tensor present_point_;
  LossSum losses_;
};

}  // namespace batchplus
