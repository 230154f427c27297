// What the machine can do at most, to say how much of it a training step reaches.
//   peak_flops THREADS
// prints "GFLOPS GB/s", each over about 0.2 s in all threads:
//   GFLOPS  multiply-adds (two operations each) in single precision on registers alone: with AVX2 and FMA
//           where the processor has them, otherwise with vectors of four. AVX-512 is not used.
//   GB/s    a copy of 256 MiB, larger than most caches; bytes read and bytes written both count.

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <latch>
#include <numeric>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace {

constexpr double kSeconds = 0.2;
constexpr size_t kCopiedBytes = size_t{256} << 20;
constexpr long kRepeats = 1'000'000;
// Enough to hide the latency of an FMA (4 or 5 cycles, two a cycle), and few enough for 16 registers.
constexpr int kAccumulators = 12;
// The accumulators approach kAddend / (1 - kFactor) = 1 and stay normal numbers.
constexpr float kFactor = 0.5F;
constexpr float kAddend = 0.5F;

/// Where the results go, so that no compiler leaves out the work.
volatile float result_of_last_kernel = 0;

/// A kernel does kRepeats multiply-adds on each accumulator and returns the operations that they are.
using Kernel = double (*)();

using FourFloats = float __attribute__((vector_size(16)));

double multiply_add_plain() {
  const FourFloats factor = FourFloats{} + kFactor;
  const FourFloats addend = FourFloats{} + kAddend;
  std::array<FourFloats, kAccumulators> values;
  for (int a = 0; a < kAccumulators; ++a) values[a] = FourFloats{} + static_cast<float>(a);
  for (long i = 0; i < kRepeats; ++i) {
#pragma GCC unroll 12
    for (auto& value : values) value = value * factor + addend;
  }
  for (const auto& value : values) result_of_last_kernel = value[0];
  return 2.0 * 4 * kAccumulators * kRepeats;
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) double multiply_add_avx2() {
  const __m256 factor = _mm256_set1_ps(kFactor);
  const __m256 addend = _mm256_set1_ps(kAddend);
  __m256 values[kAccumulators];
  for (int a = 0; a < kAccumulators; ++a) values[a] = _mm256_set1_ps(static_cast<float>(a));
  for (long i = 0; i < kRepeats; ++i) {
#pragma GCC unroll 12
    for (auto& value : values) value = _mm256_fmadd_ps(value, factor, addend);
  }
  for (const auto& value : values) result_of_last_kernel = _mm256_cvtss_f32(value);
  return 2.0 * 8 * kAccumulators * kRepeats;
}
#endif

Kernel best_kernel() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return multiply_add_avx2;
#endif
  return multiply_add_plain;
}

/// What the work returns, per second, over about kSeconds.
template <class Work>
double rate_of(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  double done = 0;
  double seconds = 0;
  while (seconds < kSeconds) {
    done += work();
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  return done / seconds;
}

/// The sum of what measure(begin) returns in each thread; it calls begin() when it is ready, and all begin
/// together.
template <class Measure>
double sum_of_threads(int threads, const Measure& measure) {
  std::vector<double> rates(static_cast<size_t>(threads));
  {
    std::latch are_all_ready(threads);
    std::vector<std::jthread> workers;
    for (double& rate : rates) {
      workers.emplace_back([&] { rate = measure([&] { are_all_ready.arrive_and_wait(); }); });
    }
  }
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

double flops(int threads) {
  const Kernel kernel = best_kernel();
  return sum_of_threads(threads, [&](const auto& begin) {
    begin();
    return rate_of(kernel);
  });
}

/// Bytes read and written per second. Each thread copies its part of the array, in memory that it touched
/// first.
double bandwidth(int threads) {
  return sum_of_threads(threads, [&](const auto& begin) {
    const std::vector<char> from(kCopiedBytes / static_cast<size_t>(threads), 1);
    std::vector<char> to(from.size());
    begin();
    return rate_of([&] {
      std::memcpy(to.data(), from.data(), from.size());
      result_of_last_kernel = to[to.size() / 2];
      return 2.0 * static_cast<double>(from.size());
    });
  });
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc == 2 ? std::atoi(argv[1]) : 0;
  if (threads < 1) {
    std::fprintf(stderr, "usage: peak_flops THREADS\n");
    return 2;
  }
  const double operations = flops(threads);
  std::printf("%.1f %.1f\n", operations / 1e9, bandwidth(threads) / 1e9);
}
