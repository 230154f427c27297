// The fused update's bandwidth against a plain copy of the same number of bytes, interleaved.
//   update_bandwidth THREADS
// A copy of n bytes moves 2 n (it reads and writes); each fused update moves 4 bytes for every vector it
// reads and every vector it writes. The copy is at::parallel_for over memcpy with the same threads.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "core/torch.h"
#include "kernels/vector_kernels.h"
#include "util/clock.h"

namespace batchplus::kernels {
namespace {

constexpr int kRounds = 15;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Case {
  const char* name;
  UpdateKind kind;
  bool has_control;
  /// Vectors read and written: w and the gradient, then the momentum buffer, then control and mean.
  int streams;
};

void measure(const Case& what, int64_t size) {
  std::vector<torch::Tensor> v;
  for (int i = 0; i < 5; ++i) v.push_back(torch::randn({size}));
  const EstimateTerms estimate =
      what.has_control ? EstimateTerms{.gradient = &v[1], .control = &v[2], .mean = &v[3], .coefficient = 1}
                       : EstimateTerms{.gradient = &v[1]};
  const UpdateConstants constants{
      .kind = what.kind, .learning_rate = 1e-6, .momentum = 0.9, .weight_decay = 1e-4};
  const int64_t bytes = what.streams * size * 4;
  std::vector<char> from(static_cast<size_t>(bytes / 2), 1);
  std::vector<char> to(from.size());
  const int repeats = std::max<int>(1, static_cast<int>(int64_t{400} * 1024 * 1024 / bytes));

  std::vector<double> update_rates;
  std::vector<double> ratios;
  for (int round = 0; round <= kRounds; ++round) {
    const Stopwatch update_time;
    bool is_finite = true;
    for (int r = 0; r < repeats; ++r) is_finite = fused_update(v[0], v[4], estimate, constants) && is_finite;
    const double update_seconds = update_time.seconds();
    if (!is_finite) std::abort();
    const Stopwatch copy_time;
    for (int r = 0; r < repeats; ++r) {
      at::parallel_for(0, bytes / 2, 65536, [&](int64_t begin, int64_t end) {
        std::memcpy(to.data() + begin, from.data() + begin, static_cast<size_t>(end - begin));
      });
    }
    const double copy_seconds = copy_time.seconds();
    if (round == 0) continue;  // warm-up
    update_rates.push_back(static_cast<double>(bytes) * repeats / update_seconds);
    ratios.push_back(copy_seconds / update_seconds);
  }
  const auto [low, high] = std::minmax_element(ratios.begin(), ratios.end());
  std::printf("%-34s %9lld parameters  %6.1f GB/s  %.2f of a copy's bandwidth (%.2f to %.2f, n = %d)\n",
              what.name, static_cast<long long>(size), median(update_rates) / 1e9, median(ratios), *low,
              *high, kRounds);
}

}  // namespace
}  // namespace batchplus::kernels

int main(int argc, char** argv) {
  using batchplus::kernels::UpdateKind;
  at::set_num_threads(argc > 1 ? std::atoi(argv[1]) : 1);
  const std::vector<batchplus::kernels::Case> cases = {
      {"sgd: w, g", UpdateKind::kPlain, false, 3},
      {"nag: w, g, m", UpdateKind::kNesterov, false, 5},
      {"bp-svrg: w, g, g(w), mu", UpdateKind::kPlain, true, 5},
      {"bp-svrg + nesterov: all five", UpdateKind::kNesterov, true, 7},
  };
  // mlp's and vgg11's number of parameters: in the last-level cache, and beyond it.
  for (const int64_t size : {318410, 9756426}) {
    for (const auto& what : cases) batchplus::kernels::measure(what, size);
  }
}
