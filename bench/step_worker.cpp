// Trains on demand, so that a driver can interleave it with others in one run.
//   step_worker MODEL BATCH THREADS [--format planar|channels-last] [--kernels fast|direct|aten]
//               [--samples N] [--outer K]
// reads lines "METHOD STEPS" and answers each with the seconds that so many inner steps took, and how many of
// them were spent waiting for batches. Batches are assembled from bytes as in a real run; evaluation is not
// part of it. "sync:METHOD" does without the pipeline; "augmented:METHOD" and "sync:augmented:METHOD"
// augment. "profile:" before any of these traces the steps: behind the usual answer comes a line
// "calls seconds operations bytes description" for each kind of kernel call, and at last a line "end".

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <map>
#include <memory>
#include <optional>

#include "core/memory.h"
#include "data/batch_pipeline.h"
#include "data/load_dataset.h"
#include "kernels/trace.h"
#include "layers/layer.h"
#include "methods/method.h"
#include "methods/registry.h"
#include "networks/registry.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/text.h"

namespace batchplus {
namespace {

const std::map<std::string, torch::MemoryFormat> kFormats = {
    {"planar", torch::MemoryFormat::Contiguous},
    {"channels-last", torch::MemoryFormat::ChannelsLast},
};
const std::map<std::string, Kernels> kKernels = {
    {"fast", Kernels::kFast},
    {"direct", Kernels::kDirect},
    {"aten", Kernels::kAten},
};

struct WorkerOptions {
  std::string model;
  int64_t batch = 128;
  int threads = 1;
  /// Empty: the network's own.
  std::string format;
  std::string kernels = "fast";
  /// The first so many training samples; 0: all.
  int64_t samples = 0;
  /// K of an outer batch; 0: the method's own.
  int64_t outer = 0;
};

Model build_model(const WorkerOptions& options, int64_t classes) {
  Model model = build_network(find_network(options.model), {.classes = classes}, /*seed=*/1);
  if (!options.format.empty()) model.memory_format = kFormats.at(options.format);
  use_memory_format(model);
  use_kernels(*model.module, kKernels.at(options.kernels));
  return model;
}

ImageView training_view(const WorkerOptions& options, const Dataset& dataset) {
  return make_views(dataset, {.train_limit = options.samples, .is_sequential = true}).train;
}

/// One method in training, ready to go on.
class Session {
 public:
  Session(const WorkerOptions& options, const std::string& method_name, bool is_augmenting,
          const Dataset& dataset)
      : info_(find_method(method_name, "method")),
        model_(build_model(options, dataset.classes())),
        parameters_(*model_.module),
        oracle_(model_, parameters_, budget_),
        source_(training_view(options, dataset), ImageTransform(dataset.normalization, is_augmenting),
                {.seed = 1, .inner_size = options.batch, .memory_format = model_.memory_format}) {
    const int64_t outer = outer_size(options);
    method_ = std::make_unique<Method>(build_method(default_plan(info_, {outer, options.batch}), oracle_));
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
  int64_t outer_size(const WorkerOptions& options) const {
    if (info_.is_full_batch) return source_.samples();
    const int64_t inner_batches =
        options.outer > 0 ? options.outer : parse_integer(info_.outer_batch.substr(0, 1), "method");
    return inner_batches * options.batch;
  }

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

void print(const kernels::KernelTrace& trace) {
  for (const auto& [description, totals] : trace.totals()) {
    std::printf("%lld %.9f %.0f %.0f %s\n", static_cast<long long>(totals.calls), totals.seconds,
                totals.operations, totals.bytes, description.c_str());
  }
  std::puts("end");
}

void serve(const WorkerOptions& options) {
  const Dataset dataset = load_dataset(find_dataset("synthetic"), ".");
  std::map<std::string, std::unique_ptr<Session>> sessions;
  std::string method;
  int64_t steps = 0;
  while (std::cin >> method >> steps) {
    const auto take_prefix = [&](const std::string& prefix) {
      if (!method.starts_with(prefix)) return false;
      method = method.substr(prefix.size());
      return true;
    };
    std::optional<kernels::KernelTrace> trace;
    if (take_prefix("profile:")) trace.emplace();
    // A session of its own for each way, so that neither disturbs the other's batches.
    auto& session = sessions[method];
    const bool has_pipeline = !take_prefix("sync:");
    const bool is_augmenting = take_prefix("augmented:");
    if (!session) session = std::make_unique<Session>(options, method, is_augmenting, dataset);
    const Session::Times times = session->run(steps, has_pipeline);
    std::printf("%.9f %.9f\n", times.seconds, times.waited_seconds);
    if (trace) print(*trace);
    std::fflush(stdout);
  }
}

void add_options(CLI::App& app, WorkerOptions& options) {
  app.add_option("MODEL", options.model, "network, perhaps with settings: resnet20:width=32")->required();
  app.add_option("BATCH", options.batch, "samples of an inner step")->required()->check(CLI::PositiveNumber);
  app.add_option("THREADS", options.threads)->required()->check(CLI::PositiveNumber);
  app.add_option("--format", options.format, "memory format (default: the network's own)")
      ->check(CLI::IsMember(kFormats));
  app.add_option("--kernels", options.kernels, "code that computes the layers")
      ->check(CLI::IsMember(kKernels));
  app.add_option("--samples", options.samples, "take only the first N training samples")
      ->check(CLI::PositiveNumber);
  app.add_option("--outer", options.outer, "outer batches of K inner ones (default: the method's own)")
      ->check(CLI::PositiveNumber);
}

}  // namespace
}  // namespace batchplus

int main(int argc, char** argv) {
  CLI::App app("Trains on demand: reads lines \"METHOD STEPS\" and answers with seconds.");
  batchplus::WorkerOptions options;
  batchplus::add_options(app, options);
  CLI11_PARSE(app, argc, argv);
  batchplus::keep_freed_memory();
  at::set_num_threads(options.threads);
  try {
    batchplus::serve(options);
  } catch (const batchplus::Error& problem) {
    std::fprintf(stderr, "step_worker: %s\n", problem.what());
    return problem.exit_code();
  }
}
