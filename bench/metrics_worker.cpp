// Measures on demand, so that a driver can interleave it with others in one run.
//   metrics_worker MODEL BATCH THREADS
// reads lines "WHAT COUNT" and answers each with the seconds that so many passes over one batch took:
//   training   a training gradient
//   gradient   grad F in evaluation mode
//   norms      grad F and the norm of every sample's gradient
//   product    a Hessian product
//   loop       the norms by a loop over samples
//   forward    F alone
// "libtorch-norms" and so on: the same with all layers by libtorch.
// and the line "memory 1" with the peak of its memory so far, in bytes.

#include <ATen/ATen.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

#include "core/memory.h"
#include "metrics/sample_gradients.h"
#include "networks/registry.h"
#include "objective/gradient_oracle.h"
#include "util/clock.h"

namespace batchplus {
namespace {

class Session {
 public:
  Session(const std::string& model, int64_t batch)
      : model_(build_network(find_network(model), {.classes = 10}, /*seed=*/1)),
        parameters_(*model_.module),
        oracle_(model_, parameters_, budget_) {
    torch::manual_seed(2);
    batch_.images = torch::randn({batch, 3, 32, 32}).contiguous(model_.memory_format);
    batch_.labels = torch::randint(0, 10, {batch});
    direction_ = torch::randn_like(parameters_.values());
  }

  void run(const std::string& what) {
    const std::string by_libtorch = "libtorch-";
    if (!what.starts_with(by_libtorch)) return run_as_set(what);
    const KernelsInScope in_scope(*model_.module, Kernels::kAten);
    run_as_set(what.substr(by_libtorch.size()));
  }

 private:
  void run_as_set(const std::string& what) {
    const Samples samples{batch_.size(), [&](int64_t begin, int64_t count) {
                            return Batch{batch_.images.slice(0, begin, begin + count),
                                         batch_.labels.slice(0, begin, begin + count)};
                          }};
    const ObjectiveFunction objective(
        model_, parameters_, samples,
        {.loss = cross_entropies_by(kernels_of(model_)), .chunk = batch_.size()});
    if (what == "training") oracle_.gradient(batch_, direction_);
    if (what == "gradient") objective.gradient();
    if (what == "norms") measure_sample_gradients(objective);
    if (what == "product") objective.hessian_product(direction_);
    if (what == "forward") objective.value();
    if (what == "loop") {
      double total = 0;
      for (int64_t i = 0; i < batch_.size(); ++i) {
        total += objective.sample_gradient(i).square().sum().item<double>();
      }
    }
  }

  Model model_;
  FlatParameters parameters_;
  GradientBudget budget_;
  GradientOracle oracle_;
  Batch batch_;
  torch::Tensor direction_;
};

/// getrusage would count what the parent process had before it became this one.
double peak_bytes() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with("VmHWM:")) return 1024.0 * std::atof(line.c_str() + 6);
  }
  return 0;
}

}  // namespace
}  // namespace batchplus

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: metrics_worker MODEL BATCH THREADS\n");
    return 2;
  }
  batchplus::keep_freed_memory();
  at::set_num_threads(std::atoi(argv[3]));
  batchplus::Session session(argv[1], std::atoll(argv[2]));
  std::string what;
  int64_t count = 0;
  while (std::cin >> what >> count) {
    if (what == "memory") {
      std::printf("%.0f\n", batchplus::peak_bytes());
      std::fflush(stdout);
      continue;
    }
    const batchplus::Stopwatch stopwatch;
    for (int64_t i = 0; i < count; ++i) session.run(what);
    std::printf("%.9f\n", stopwatch.seconds());
    std::fflush(stdout);
  }
}
