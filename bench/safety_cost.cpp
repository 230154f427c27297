// What it costs to lose nothing: a checkpoint beside an epoch, and the look for numbers that are not finite
// beside a step. Steps and checkpoints alternate.
//   safety_cost MODEL BATCH THREADS DIRECTORY [ROUNDS]

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>

#include "checkpoint/storage.h"
#include "core/memory.h"
#include "kernels/for_this_cpu.h"
#include "methods/method.h"
#include "methods/registry.h"
#include "networks/registry.h"
#include "networks/weight_file.h"
#include "util/clock.h"
#include "util/text.h"

namespace batchplus {
namespace {

struct Spread {
  double median = 0;
  double least = 0;
  double most = 0;
};

Spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {values[values.size() / 2], values.front(), values.back()};
}

/// The update of kernels/vector_kernels.cpp, with and without the look at what it writes.
template <bool kIsChecked>
bool update(float* w_begin, float* m_begin, const float* gradient, int64_t size) {
  std::atomic<uint32_t> not_finite{0};
  constexpr int64_t kGrain = 16384;
  at::parallel_for(0, size, kGrain, [&](int64_t begin, int64_t end) {
    not_finite |= kernels::for_this_cpu([&]() __attribute__((always_inline)) {
      float* __restrict w = w_begin;
      float* __restrict m = m_begin;
      uint32_t seen = 0;
      for (int64_t i = begin; i < end; ++i) {
        const float v = gradient[i] + 5e-4F * w[i];
        const float buffer = 0.9F * m[i] + v;
        m[i] = buffer;
        const float moved = w[i] - 1e-6F * (v + 0.9F * buffer);
        w[i] = moved;
        if constexpr (kIsChecked) seen |= (std::bit_cast<uint32_t>(moved) & 0x7f800000U) + 0x00800000U;
      }
      return seen;
    });
  });
  return not_finite >> 31 == 0;
}

template <class Work>
double seconds_of(const Work& work) {
  const Stopwatch stopwatch;
  work();
  return stopwatch.seconds();
}

void print_share(const char* what, const std::vector<double>& parts, const std::vector<double>& wholes) {
  std::vector<double> shares;
  for (size_t i = 0; i < parts.size(); ++i) shares.push_back(100 * parts[i] / wholes[i]);
  const Spread share = spread_of(shares);
  fmt::print("  {}: {:.3f} % ({:.3f} to {:.3f})\n", what, share.median, share.least, share.most);
}

void measure(const std::string& name, int64_t batch, const std::filesystem::path& directory, int rounds) {
  constexpr int64_t kSamplesOfAnEpoch = 50000;
  Model model = build_network(find_network(name), {.classes = 10}, /*seed=*/1);
  FlatParameters parameters(*model.module);
  GradientBudget budget;
  GradientOracle oracle(model, parameters, budget);
  Method method = build_method(default_plan(find_method("nag", "bench"), {batch, batch}), oracle);
  const OuterBatch samples(torch::randn({batch, 3, 32, 32}).contiguous(model.memory_format),
                           torch::randint(0, 10, {batch}), batch, {1});
  const RunLayout layout{directory};
  Checkpoint checkpoint;
  checkpoint.records = std::string(20000, 'r');
  checkpoint.tensors = state_dict(*model.module);
  for (auto& [key, tensor] : method.state())
    checkpoint.tensors.emplace_back("batchplus.method." + key, tensor);

  method.run(samples, 0, 1e-3);
  save_checkpoint(layout, checkpoint);
  const torch::Tensor w = parameters.values().clone();
  const torch::Tensor m = torch::zeros_like(w);
  const torch::Tensor gradient = torch::randn_like(w);
  bool is_finite = true;
  std::vector<double> epochs;
  std::vector<double> steps;
  std::vector<double> checkpoints;
  std::vector<double> checks;
  for (int i = 0; i < rounds; ++i) {
    steps.push_back(seconds_of([&] { method.run(samples, 0, 1e-3); }));
    epochs.push_back(steps.back() * static_cast<double>(kSamplesOfAnEpoch) / static_cast<double>(batch));
    checkpoints.push_back(seconds_of([&] { save_checkpoint(layout, checkpoint); }));
    const auto time_update = [&](auto* kernel) {
      return seconds_of([&] {
        is_finite &= kernel(w.data_ptr<float>(), m.data_ptr<float>(), gradient.data_ptr<float>(), w.numel());
      });
    };
    // The faster of a few, so that neither has the advantage of warm caches.
    double with_check = time_update(update<true>);
    double without = time_update(update<false>);
    for (int k = 0; k < 4; ++k) {
      with_check = std::min(with_check, time_update(update<true>));
      without = std::min(without, time_update(update<false>));
    }
    checks.push_back(with_check - without);
  }
  fmt::print("{}, b = {}, {} parameters, checkpoint {}: step {:.1f} ms, checkpoint {:.1f} ms{}\n", name,
             batch, format_count(parameters.size()),
             format_bytes(static_cast<double>(file_size(layout.checkpoint()))), 1e3 * spread_of(steps).median,
             1e3 * spread_of(checkpoints).median, is_finite ? "" : ", not finite");
  print_share("a checkpoint an epoch of 50,000 samples", checkpoints, epochs);
  print_share("the finite check, the update with it less the update without, a step", checks, steps);
}

}  // namespace
}  // namespace batchplus

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  batchplus::keep_freed_memory();
  at::set_num_threads(std::atoi(argv[3]));
  batchplus::measure(argv[1], std::atoi(argv[2]), argv[4], argc > 5 ? std::atoi(argv[5]) : 15);
}
