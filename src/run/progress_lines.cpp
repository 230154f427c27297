#include "run/progress_lines.h"

#include <fmt/format.h>

#include <cmath>

#include "store/run_directory.h"
#include "util/text.h"

namespace batchplus {
namespace {

std::string describe(const EpochRecord& record) {
  std::string line = fmt::format("epoch {:g}  lr {:g}  running loss {:.4f}", record.epochs_done,
                                 record.learning_rate, record.running_loss);
  if (record.validation) line += fmt::format("  validation {:.2f}%", record.validation->accuracy);
  if (record.test)
    line += fmt::format("  test loss {:.4f}  test {:.2f}%", record.test->loss, record.test->accuracy);
  return line +
         fmt::format(
             "  {} samples/s",
             format_count(std::llround(static_cast<double>(record.sample_gradients) / record.train_seconds)));
}

/// "(evaluation statistics)"; empty for what BatchNorm's statistics do not enter.
std::string statistics_of(const Quantity& quantity) {
  for (const auto& [key, detail] : quantity.details) {
    if (key == "batchnorm") return fmt::format("({})", describe_statistics(std::get<std::string>(detail)));
  }
  return "";
}

/// The measured values in short, for the reader of the progress; statistics behind the last that has them.
std::string describe_metrics(const std::vector<Quantity>& metrics) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < metrics.size(); ++i) {
    parts.push_back(fmt::format("{} {:.4g}", metrics[i].name, metrics[i].value));
    const std::string statistics = statistics_of(metrics[i]);
    const bool is_last = i + 1 == metrics.size() || statistics_of(metrics[i + 1]) != statistics;
    if (is_last && !statistics.empty()) parts.push_back(statistics);
  }
  return fmt::format("    {}", join(parts, "  "));
}

}  // namespace

ProgressLines::ProgressLines(Progress& progress, std::function<void(double fraction)> on_fraction)
    : progress_(progress), on_fraction_(std::move(on_fraction)) {}

void ProgressLines::after_outer_batch(const TrainState& state, int64_t expected) {
  const auto done = static_cast<double>(state.last.sample_gradients);
  const auto total = static_cast<double>(expected);
  progress_.update(done, total, fmt::format("epoch {}", state.epoch_index + 1));
  if (on_fraction_) on_fraction_(done / total);
}

void ProgressLines::after_epoch(const EpochEnd& end) {
  progress_.print_line(describe(end.record));
  if (!end.record.metrics.empty()) progress_.print_line(describe_metrics(end.record.metrics));
}

}  // namespace batchplus
