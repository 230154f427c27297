// Trains on demand, so that a driver can interleave it with others in one run.
//   step_worker MODEL BATCH THREADS [planar|channels-last]
// reads lines "METHOD STEPS" and answers each with the seconds that so many inner steps took, and how many of
// them were spent waiting for batches. Batches are assembled from bytes as in a real run; evaluation is not
// part of it. "sync:METHOD" does without the pipeline; "augmented:METHOD" and "sync:augmented:METHOD"
// augment.

#include <cstdio>
#include <iostream>
#include <map>
#include <memory>
#include <optional>

#include "core/memory.h"
#include "data/batch_pipeline.h"
#include "data/registry.h"
#include "methods/method.h"
#include "methods/registry.h"
#include "networks/registry.h"
#include "util/clock.h"
#include "util/text.h"

namespace batchplus {
namespace {

/// The network's own memory format, or another one.
std::optional<torch::MemoryFormat> memory_format;

Model build_model(const std::string& name, int64_t classes) {
  Model model = build_network(find_network(name), {.classes = classes}, /*seed=*/1);
  model.memory_format = memory_format.value_or(model.memory_format);
  use_memory_format(model);
  return model;
}

/// One method in training, ready to go on.
class Session {
 public:
  Session(const std::string& model_name, const std::string& method_name, int64_t batch, bool is_augmenting,
          const Dataset& dataset)
      : info_(find_method(method_name, "method")),
        model_(build_model(model_name, dataset.classes())),
        parameters_(*model_.module),
        oracle_(model_, parameters_, budget_),
        source_(make_views(dataset, {}).train, ImageTransform(dataset.normalization, is_augmenting),
                {.seed = 1, .inner_size = batch, .memory_format = model_.memory_format}) {
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

  struct Times {
    double seconds = 0;
    double waited_seconds = 0;
  };

  Times run(int64_t inner_steps, bool has_pipeline) {
    const Stopwatch stopwatch;
    const double waited_before = pipeline_.waited_seconds();
    for (int64_t done = 0; done < inner_steps;) {
      if (next_ == source_.outer_batches()) {
        next_ = 0;
        pipeline_.begin_epoch(++epoch_, method_->outer_batch_size());
      }
      const int64_t i = next_++;
      const OuterBatch outer = has_pipeline ? pipeline_.outer_batch(i) : source_.outer_batch(i, buffer_);
      done += method_->run(outer, 0, 0.01).inner_steps;
    }
    return {stopwatch.seconds(), pipeline_.waited_seconds() - waited_before};
  }

 private:
  const MethodInfo& info_;
  Model model_;
  FlatParameters parameters_;
  GradientBudget budget_;
  GradientOracle oracle_;
  BatchSource source_;
  BatchPipeline pipeline_{source_};
  BatchBuffer buffer_;
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
    // A session of its own for each way, so that neither disturbs the other's batches.
    auto& session = sessions[method];
    const auto take_prefix = [&](const std::string& prefix) {
      if (!method.starts_with(prefix)) return false;
      method = method.substr(prefix.size());
      return true;
    };
    const bool has_pipeline = !take_prefix("sync:");
    const bool is_augmenting = take_prefix("augmented:");
    if (!session) session = std::make_unique<Session>(model, method, batch, is_augmenting, dataset);
    const Session::Times times = session->run(steps, has_pipeline);
    std::printf("%.9f %.9f\n", times.seconds, times.waited_seconds);
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace batchplus

int main(int argc, char** argv) {
  if (argc < 4 || argc > 5) {
    std::fprintf(stderr, "usage: step_worker MODEL BATCH THREADS [planar|channels-last]\n");
    return 2;
  }
  if (argc == 5) {
    const bool is_planar = std::string(argv[4]) == "planar";
    batchplus::memory_format =
        is_planar ? torch::MemoryFormat::Contiguous : torch::MemoryFormat::ChannelsLast;
  }
  batchplus::keep_freed_memory();
  at::set_num_threads(std::atoi(argv[3]));
  batchplus::serve(argv[1], std::atoll(argv[2]));
}
