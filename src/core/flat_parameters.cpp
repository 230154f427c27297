#include "core/flat_parameters.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <unordered_set>

#include "util/error.h"

namespace batchplus {
namespace {

thread_local GradientTarget* target_of_this_thread = nullptr;

/// Elements that a thread copies at least.
constexpr int64_t kCopyGrain = 32768;

}  // namespace

FlatParameters::FlatParameters(torch::nn::Module& module) {
  std::unordered_set<const void*> seen;
  int64_t size = 0;
  for (const auto& item : module.named_parameters()) {
    const torch::Tensor& parameter = item.value();
    const bool is_new = seen.insert(parameter.unsafeGetTensorImpl()).second;
    if (!is_new || !parameter.requires_grad()) continue;
    if (!tensors_.empty() && parameter.scalar_type() != tensors_.front().scalar_type()) {
      throw Error("trainable parameters differ in type",
                  {item.key(), std::string(torch::toString(parameter.scalar_type())),
                   "convert the module with to(torch::kFloat32)"});
    }
    BATCHPLUS_CHECK(parameter.is_non_overlapping_and_dense(), "a parameter's elements fill its memory once");
    slices_.push_back({item.key(), parameter, size});
    tensors_.push_back(parameter);
    size += parameter.numel();
  }
  if (slices_.empty()) throw Error("the network has no trainable parameters");

  const torch::NoGradGuard no_grad;
  values_ = torch::empty({size}, slices_.front().parameter.options().requires_grad(false));
  for (size_t i = 0; i < slices_.size(); ++i) {
    const torch::Tensor destination = view(values_, i);
    destination.copy_(slices_[i].parameter);
    slices_[i].parameter.set_data(destination);
  }
}

std::string FlatParameters::layout() const {
  std::string text;
  for (const Slice& slice : slices_) {
    text += fmt::format("{} [{}]/[{}] at {}\n", slice.name, fmt::join(slice.parameter.sizes(), ","),
                        fmt::join(slice.parameter.strides(), ","), slice.offset);
  }
  return text;
}

torch::Tensor FlatParameters::view(const torch::Tensor& flat, size_t i) const {
  const Slice& slice = slices_[i];
  return flat.as_strided(slice.parameter.sizes(), slice.parameter.strides(),
                         flat.storage_offset() + slice.offset);
}

void FlatParameters::gather(const std::vector<torch::Tensor>& gradients, const torch::Tensor& flat) const {
  BATCHPLUS_CHECK(gradients.size() == slices_.size(), "one gradient for each parameter");
  const torch::NoGradGuard no_grad;
  for (size_t i = 0; i < slices_.size(); ++i) {
    const torch::Tensor& gradient = gradients[i];
    const torch::Tensor& parameter = slices_[i].parameter;
    if (!gradient.defined()) {
      view(flat, i).zero_();
    } else if (gradient.is_cpu() && gradient.scalar_type() == flat.scalar_type() &&
               gradient.strides() == parameter.strides()) {
      // An ATen copy costs more than moving the bytes of a small tensor.
      const auto width = static_cast<int64_t>(gradient.element_size());
      const auto* from = static_cast<const char*>(gradient.data_ptr());
      auto* to = static_cast<char*>(flat.data_ptr()) + slices_[i].offset * width;
      if (from == to) continue;
      at::parallel_for(0, gradient.numel(), kCopyGrain, [&](int64_t begin, int64_t end) {
        std::memcpy(to + begin * width, from + begin * width, static_cast<size_t>((end - begin) * width));
      });
    } else {
      view(flat, i).copy_(gradient);
    }
  }
}

GradientTarget::GradientTarget(const FlatParameters& parameters, torch::Tensor gradient, Listener listener)
    : values_(parameters.values()),
      gradient_(std::move(gradient)),
      listener_(std::move(listener)),
      outer_(target_of_this_thread) {
  BATCHPLUS_CHECK(gradient_.sizes() == values_.sizes() && gradient_.is_contiguous(), "a gradient is like w");
  target_of_this_thread = this;
}

GradientTarget::~GradientTarget() {
  target_of_this_thread = outer_;
}

torch::Tensor GradientTarget::tensor_for(const torch::Tensor& parameter) {
  GradientTarget* target = target_of_this_thread;
  if (target != nullptr && parameter.storage().is_alias_of(target->values_.storage())) {
    const int64_t offset = parameter.storage_offset() - target->values_.storage_offset();
    if (target->taken_.insert(offset).second) {
      if (target->listener_ && target->last_count_ > 0)
        target->listener_(target->last_offset_, target->last_count_);
      target->last_offset_ = offset;
      target->last_count_ = parameter.numel();
      return target->gradient_.as_strided(parameter.sizes(), parameter.strides(),
                                          target->gradient_.storage_offset() + offset);
    }
  }
  return torch::empty_like(parameter);
}

BufferSnapshot::BufferSnapshot(const torch::nn::Module& module) : buffers_(module.buffers()) {
  saved_.reserve(buffers_.size());
  for (const auto& buffer : buffers_) saved_.push_back(buffer.clone());
}

void BufferSnapshot::restore() const {
  const torch::NoGradGuard no_grad;
  for (size_t i = 0; i < buffers_.size(); ++i) buffers_[i].copy_(saved_[i]);
}

}  // namespace batchplus
