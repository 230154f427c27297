#pragma once

#include "core/torch.h"
#include "kernels/maps.h"
#include "networks/own_functions.h"

/// Between tensors and kernels, for the functions of namespace own.
namespace batchplus::own {

constexpr auto kChannelsLast = torch::MemoryFormat::ChannelsLast;

/// For backward passes that give numbers, not functions that could be differentiated again.
void refuse_second_derivative();

/// [N,C,H,W] with the channels side by side.
Maps maps_of(const torch::Tensor& t);
/// Channels `begin` to `end` of it.
Maps maps_of(const torch::Tensor& t, int64_t begin, int64_t end);
torch::Tensor make_maps(const torch::Tensor& like, int64_t channels, int64_t height, int64_t width);
Filters filters_of(const torch::Tensor& w);
/// Null for an undefined tensor.
float* data_of(const torch::Tensor& t);

/// A BatchNorm as y = scale * x + shift by channels: scale = weight / sqrt(variance + epsilon),
/// shift = bias - mean * scale.
class Coefficients {
 public:
  Coefficients(const torch::Tensor& mean, const torch::Tensor& variance, const BatchNormParts& parts);
  /// As kept by tensor().
  explicit Coefficients(torch::Tensor rows) : rows_(std::move(rows)) {}
  /// [4,C], for keeping.
  const torch::Tensor& tensor() const { return rows_; }

  const float* mean() const { return row(0); }
  const float* inverse_std() const { return row(1); }
  const float* scale() const { return row(2); }
  const float* shift() const { return row(3); }

 private:
  const float* row(int64_t i) const { return rows_.data_ptr<float>() + i * rows_.size(1); }

  torch::Tensor rows_;
};

/// Moves the running moments towards those of a batch of `pixels` pixels a channel.
void move_running(const BatchNormParts& parts, const torch::Tensor& mean, const torch::Tensor& variance,
                  int64_t pixels);

}  // namespace batchplus::own
