#include "kernels/sample_share.h"

#include <ATen/Parallel.h>

namespace batchplus::kernels {
namespace {

thread_local SampleShare* share_of_this_thread = nullptr;

}  // namespace

bool SampleShare::is_possible(int64_t whole, int ranks, Sums sums) {
  if (sums == Sums::kLater) return whole >= ranks;
  return whole >= Parts::kFewest && Parts::kFewest % ranks == 0;
}

SampleShare* SampleShare::current() {
  return share_of_this_thread;
}

SampleShare::Scope::Scope(SampleShare* share) : outer_(share_of_this_thread) {
  share_of_this_thread = share;
}

SampleShare::Scope::~Scope() {
  share_of_this_thread = outer_;
}

SampleShare* exact_share() {
  SampleShare* share = SampleShare::current();
  return share != nullptr && share->is_exact() ? share : nullptr;
}

SampleShare* share_for_moments() {
  SampleShare* share = SampleShare::current();
  return share != nullptr && !share->has_own_moments() ? share : nullptr;
}

int64_t whole_samples(int64_t samples) {
  const SampleShare* share = SampleShare::current();
  return share != nullptr ? share->whole() : samples;
}

Parts sample_parts(int64_t samples, int64_t most) {
  const SampleShare* share = exact_share();
  return share != nullptr && most > 1 ? share->parts(most) : Parts(samples, most);
}

int64_t meet_parts(float* parts, int64_t floats, int64_t number) {
  SampleShare* share = exact_share();
  if (share == nullptr) return number;
  constexpr int64_t kGrain = 16384;
  at::parallel_for(0, floats, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t step = 1; step < number; step *= 2) {
      for (int64_t part = 0; part < number; part += 2 * step) {
        float* to = parts + part * floats;
        const float* from = to + step * floats;
        for (int64_t i = begin; i < end; ++i) to[i] += from[i];
      }
    }
  });
  share->add(parts, floats);
  return 1;
}

}  // namespace batchplus::kernels
