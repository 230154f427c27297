// The machine's peak in single precision, to say how much of it a training step reaches.
//   peak_flops THREADS
// prints the GFLOPS of multiply-adds (two operations each) on registers alone, over about 0.2 s in each
// thread: with AVX2 and FMA where the processor has them, otherwise with vectors of four. AVX-512 is not
// used.

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <latch>
#include <numeric>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace {

constexpr double kSeconds = 0.2;
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

/// Operations per second of this thread.
double measure(Kernel kernel) {
  const auto start = std::chrono::steady_clock::now();
  double operations = 0;
  double seconds = 0;
  while (seconds < kSeconds) {
    operations += kernel();
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  return operations / seconds;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc == 2 ? std::atoi(argv[1]) : 0;
  if (threads < 1) {
    std::fprintf(stderr, "usage: peak_flops THREADS\n");
    return 2;
  }
  const Kernel kernel = best_kernel();
  std::vector<double> rates(static_cast<size_t>(threads));
  {
    std::latch are_all_ready(threads);
    std::vector<std::jthread> workers;
    for (double& rate : rates) {
      workers.emplace_back([&] {
        are_all_ready.arrive_and_wait();
        rate = measure(kernel);
      });
    }
  }
  std::printf("%.1f\n", std::accumulate(rates.begin(), rates.end(), 0.0) / 1e9);
}
