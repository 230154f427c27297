// Trains on demand, so that a driver can interleave it with others in one run.
//   step_worker MODEL BATCH THREADS
// reads lines "METHOD STEPS" and answers each with the seconds that so many inner steps took. Batches are
// assembled from bytes as in a real run; evaluation is not part of it. "data:METHOD STEPS" only assembles
// them.

#include <cstdio>
#include <iostream>
#include <map>
#include <memory>

#include "core/memory.h"
#include "data/registry.h"
#include "methods/method.h"
#include "methods/registry.h"
#include "networks/registry.h"
#include "util/clock.h"
#include "util/text.h"

namespace batchplus {
namespace {

/// One method in training, ready to go on.
class Session {
 public:
  Session(const std::string& model_name, const std::string& method_name, int64_t batch,
          const Dataset& dataset)
      : info_(find_method(method_name, "method")),
        model_(build_network(find_network(model_name), {.classes = dataset.classes()}, /*seed=*/1)),
        parameters_(*model_.module),
        oracle_(model_, parameters_, budget_),
        source_(make_views(dataset, {}).train, ImageTransform(dataset.normalization, false),
                {.seed = 1, .inner_size = batch}) {
    EstimatorOptions options;
    if (!info_.coefficient.empty())
      options.coefficient = CoefficientSchedule::parse(info_.coefficient, "method");
    const int64_t outer = info_.is_full_batch
                              ? dataset.train.size()
                              : batch * parse_integer(info_.outer_batch.substr(0, 1), "method");
    method_ = std::make_unique<Method>(info_.make_estimator(oracle_, options),
                                       UpdateRule(parameters_, {.kind = info_.update, .momentum = 0.9}),
                                       Method::Sizes{outer, batch});
    source_.begin_epoch(epoch_, outer);
  }

  double run(int64_t inner_steps, bool is_data_only) {
    const Stopwatch stopwatch;
    for (int64_t done = 0; done < inner_steps;) {
      if (next_ == source_.outer_batches()) {
        next_ = 0;
        source_.begin_epoch(++epoch_, method_->outer_batch_size());
      }
      const OuterBatch outer = source_.outer_batch(next_++);
      done += is_data_only ? outer.inner_batches() : method_->run(outer, 0, 0.01).inner_steps;
    }
    return stopwatch.seconds();
  }

 private:
  const MethodInfo& info_;
  Model model_;
  FlatParameters parameters_;
  GradientBudget budget_;
  GradientOracle oracle_;
  BatchSource source_;
  std::unique_ptr<Method> method_;
  int64_t epoch_ = 0;
  int64_t next_ = 0;
};

void serve(const std::string& model, int64_t batch) {
  const Dataset dataset = load_dataset(find_dataset("synthetic"), ".");
  std::map<std::string, std::unique_ptr<Session>> sessions;
  std::string method;
  int64_t steps = 0;
  while (std::cin >> method >> steps) {
    const bool is_data_only = method.starts_with("data:");
    if (is_data_only) method = method.substr(5);
    auto& session = sessions[method];
    if (!session) session = std::make_unique<Session>(model, method, batch, dataset);
    std::printf("%.9f\n", session->run(steps, is_data_only));
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace batchplus

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: step_worker MODEL BATCH THREADS\n");
    return 2;
  }
  batchplus::keep_freed_memory();
  at::set_num_threads(std::atoi(argv[3]));
  batchplus::serve(argv[1], std::atoll(argv[2]));
}
