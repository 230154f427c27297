#include "objective/gradient_sum.h"

#include <algorithm>

#include "util/error.h"

namespace batchplus {

GradientSum::GradientSum(Group& group, const FlatParameters& parameters, torch::Tensor gradient,
                         int64_t early_elements)
    : group_(group), gradient_(std::move(gradient)) {
  if (group.companion() == nullptr) return;
  const auto& slices = parameters.slices();
  for (size_t i = 0; i < slices.size(); ++i) {
    const int64_t count = slices[i].parameter.numel();
    if (count >= early_elements) large_.push_back({i, slices[i].offset, count});
  }
  if (!large_.empty()) early_.emplace(*group.companion());
}

GradientTarget::Listener GradientSum::listener() {
  if (!early_) return {};
  return [this](int64_t offset, int64_t count) {
    const auto found = std::find_if(large_.begin(), large_.end(), [&](const Large& each) {
      return each.offset == offset && each.count == count;
    });
    if (found != large_.end()) begin(*found);
  };
}

void GradientSum::begin(Large& large) {
  large.is_begun = true;
  early_->begin(values() + large.offset, large.count);
}

void GradientSum::finish(const std::vector<torch::Tensor>& gradients) {
  if (!early_) {
    group_.sum(values(), gradient_.numel());
    return;
  }
  for (Large& large : large_) {
    if (large.is_begun) {
      BATCHPLUS_CHECK(gradients[large.parameter].data_ptr() == values() + large.offset,
                      "a gradient that is added up early is complete: its layer is used once");
    } else {
      begin(large);
    }
  }
  sum_small_ones();
  early_->finish();
}

void GradientSum::sum_small_ones() {
  std::vector<float> all;
  const auto for_each_gap = [&](const auto& visit) {
    int64_t begin = 0;
    for (const Large& large : large_) {
      visit(values() + begin, large.offset - begin);
      begin = large.offset + large.count;
    }
    visit(values() + begin, gradient_.numel() - begin);
  };
  for_each_gap([&](const float* from, int64_t count) { all.insert(all.end(), from, from + count); });
  group_.sum(all.data(), static_cast<int64_t>(all.size()));
  const float* from = all.data();
  for_each_gap([&](float* to, int64_t count) {
    std::copy_n(from, count, to);
    from += count;
  });
}

}  // namespace batchplus
