#pragma once

#include <ATen/core/Tensor.h>

#include "kernels/maps.h"

/// Tensors as the arguments of kernels: float, on the CPU, maps with their channels side by side.
namespace batchplus::kernels {

constexpr auto kChannelsLast = at::MemoryFormat::ChannelsLast;

/// Whether kernels can compute with a tensor: float, on the CPU.
bool take(const at::Tensor& tensor);

/// [N,C,H,W] with the channels side by side.
Maps maps_of(const at::Tensor& t);
/// Channels `begin` to `end` of it.
Maps maps_of(const at::Tensor& t, int64_t begin, int64_t end);
/// Maps with arbitrary values for as many samples as `like` has.
at::Tensor make_maps(const at::Tensor& like, int64_t channels, int64_t height, int64_t width);
/// [out,in,kernel,kernel] wherever the weights lie.
Filters filters_of(const at::Tensor& w);
/// Null for an undefined tensor.
float* data_of(const at::Tensor& t);

}  // namespace batchplus::kernels
