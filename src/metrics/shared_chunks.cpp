#include "metrics/shared_chunks.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <vector>

#include "util/error.h"

namespace batchplus {

SharedChunks::SharedChunks(int64_t samples, int64_t chunk, Group* group)
    : samples_(samples), chunk_(chunk), group_(group) {
  BATCHPLUS_CHECK(samples > 0 && chunk > 0, "a chunk has samples");
}

SharedChunks::Chunk SharedChunks::chunk(int64_t number) const {
  const int64_t begin = std::min(number * chunk_, samples_);
  return {number, begin, std::min(chunk_, samples_ - begin)};
}

void SharedChunks::tell(int64_t turn, const OnSamples& on_samples) const {
  if (on_samples) on_samples(chunk((turn + 1) * ranks()).begin - chunk(turn * ranks()).begin);
}

void SharedChunks::for_each(const std::function<void(const Chunk&)>& pass,
                            const OnSamples& on_samples) const {
  for (int64_t turn = 0; turn < turns(); ++turn) {
    const Chunk own = chunk(turn * ranks() + rank());
    if (own.count > 0) pass(own);
    tell(turn, on_samples);
  }
}

torch::Tensor SharedChunks::sum(const torch::Tensor& like,
                                const std::function<torch::Tensor(const Chunk&)>& pass,
                                const OnSamples& on_samples) const {
  torch::Tensor sum;
  const auto add = [](torch::Tensor& to, const torch::Tensor& term) {
    if (to.defined()) {
      to.add_(term);
    } else {
      to = term.to(torch::kFloat64, /*non_blocking=*/false, /*copy=*/true);
    }
  };
  if (ranks() == 1) {
    for_each([&](const Chunk& own) { add(sum, pass(own)); }, on_samples);
    return sum;
  }
  // In each turn a rank adds up its share of the elements, over the chunks of all ranks.
  const int64_t size = like.numel();
  const int64_t begin = group_->share_begin(size, rank());
  const int64_t end = group_->share_begin(size, rank() + 1);
  const torch::Tensor terms = torch::empty({ranks(), end - begin}, like.options().requires_grad(false));
  for (int64_t turn = 0; turn < turns(); ++turn) {
    const Chunk own = chunk(turn * ranks() + rank());
    // Nobody reads what a rank without a chunk sends.
    const torch::Tensor part = own.count > 0 ? pass(own).contiguous() : like;
    BATCHPLUS_CHECK(part.numel() == size && part.scalar_type() == like.scalar_type(), "parts are alike");
    group_->exchange_shares(part.data_ptr(), size, part.element_size(), terms.data_ptr());
    for (int peer = 0; peer < ranks(); ++peer) {
      if (chunk(turn * ranks() + peer).count > 0) add(sum, terms[peer]);
    }
    tell(turn, on_samples);
  }
  const torch::Tensor all = torch::empty({size}, sum.options());
  all.slice(0, begin, end).copy_(sum);
  group_->gather(all.data_ptr(), size, all.element_size());
  return all;
}

void SharedChunks::gather(double* rows, int64_t columns) const {
  if (ranks() == 1) return;
  // One rank's rows behind the other's; a rank with a turn less has an empty one at the end.
  std::vector<double> by_rank(static_cast<size_t>(turns() * ranks() * columns));
  const auto place = [&](int64_t number) {
    return by_rank.data() + (number % ranks() * turns() + number / ranks()) * columns;
  };
  for (int64_t k = rank(); k < number(); k += ranks()) std::copy_n(rows + k * columns, columns, place(k));
  group_->gather(by_rank.data(), turns() * ranks(), columns * static_cast<int64_t>(sizeof(double)));
  for (int64_t k = 0; k < number(); ++k) std::copy_n(place(k), columns, rows + k * columns);
}

}  // namespace batchplus
