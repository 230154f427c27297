#pragma once

#include "core/torch.h"
#include "core/torch_versions.h"
#include "layers/layer_observer.h"

/// For the autograd functions by which layers compute with this project's own kernels. They take float
/// tensors on a CPU where kernels::are_available(). Maps are [N,C,H,W] with the channels side by side in
/// memory (channels-last); others are copied into that order.
namespace batchplus::function {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

/// How a Function takes a tensor that may be undefined.
using MaybeTensor = c10::optional<Tensor>;

inline MaybeTensor maybe(const Tensor& t) {
  return t.defined() ? MaybeTensor(t) : MaybeTensor();
}

/// Who waits for a layer's gradients (Layer::watcher), for a function that shows them in its backward pass.
/// Null: nobody.
struct Watch : torch::CustomClassHolder {
  Watch(const Layer* watched, GradientObserver* watching) : layer(watched), watcher(watching) {}
  const Layer* layer;
  GradientObserver* watcher;
};

/// An input without numbers that has the function's backward pass run even where no other input needs a
/// gradient.
Tensor make_trigger(bool is_wanted);

/// The sum over the samples of rows: [N,C], by own kernels: [C].
Tensor sum_of_samples(const Tensor& rows);

/// For backward passes that give numbers, not functions that could be differentiated again.
void refuse_second_derivative();

}  // namespace batchplus::function
