#include "train/trainer.h"

#include <fmt/format.h>

#include <algorithm>

#include "util/clock.h"
#include "util/error.h"

namespace batchplus {

Trainer::Trainer(Parts parts, TrainOptions options, std::vector<TrainCallback*> callbacks)
    : parts_(parts), options_(std::move(options)), callbacks_(std::move(callbacks)) {
  BATCHPLUS_CHECK(options_.epochs || options_.budget_sample_gradients, "something ends the training");
  BATCHPLUS_CHECK(options_.warmup_epochs == 0 || parts_.warmup_method != nullptr, "a warm-up has a method");
}

TrainResult Trainer::run(const TrainState& from) {
  expected_cost_ = expected_cost();
  state_ = from;
  // Of a run that was extended, a larger budget may still not allow another outer batch.
  const bool is_between_epochs = state_.epoch_index > 0 && state_.outer_batches == 0;
  const Method& next = method_of(state_.epoch_index);
  if (is_between_epochs && !fits_budget(next.cost(next.outer_batch_size()))) state_.is_over = true;
  for (bool goes_on = is_wanted(); goes_on && !state_.is_over;) goes_on = run_epoch();
  return {is_diverged_, is_interrupted_, state_.last, state_.best_test_accuracy};
}

bool Trainer::run_epoch() {
  const int64_t epoch = state_.epoch_index;
  Method& method = method_of(epoch);
  BatchPipeline& batches = parts_.batches;
  EpochRecord& record = state_.last;
  batches.begin_epoch(epoch, method.outer_batch_size());
  record.test.reset();
  record.validation.reset();
  record.metrics.clear();

  int64_t& i = state_.outer_batches;
  if (i < 0 || i > batches.outer_batches()) {
    throw Error("there is no such outer batch to go on from",
                {fmt::format("epoch {}", epoch), std::to_string(i),
                 fmt::format("an epoch has {}", batches.outer_batches())});
  }
  while (i < batches.outer_batches()) {
    if (!fits_budget(method.cost(batches.outer_batch_size(i)))) break;
    const Stopwatch stopwatch;
    const double done = progress(epoch, i);
    record.learning_rate = learning_rate(epoch, done);
    const Method::Outcome outcome = method.run(batches.outer_batch(i), done, record.learning_rate);
    record.inner_steps += outcome.inner_steps;
    record.outer_steps += 1;
    record.sample_gradients = parts_.budget.sample_gradients();
    record.train_seconds += stopwatch.seconds();
    if (!outcome.is_finite || !parts_.oracle.has_finite_loss()) {
      is_diverged_ = true;
      record.running_loss = parts_.oracle.take_mean_loss();
      return false;
    }
    ++i;
    record.epochs_done =
        static_cast<double>(epoch) + static_cast<double>(i) / static_cast<double>(batches.outer_batches());
    for (TrainCallback* callback : callbacks_) callback->after_outer_batch(state_, expected_cost_);
    if (!is_wanted()) return false;
  }

  const bool is_complete = i == batches.outer_batches();
  const bool is_last_epoch = options_.epochs && epoch + 1 == *options_.epochs;
  state_.is_over = !is_complete || is_last_epoch ||
                   !fits_budget(method_of(epoch + 1).cost(method_of(epoch + 1).outer_batch_size()));
  finish_epoch(state_.is_over);
  state_.epoch_index = epoch + 1;
  state_.outer_batches = 0;
  return is_wanted();
}

void Trainer::finish_epoch(bool is_last) {
  EpochRecord& record = state_.last;
  record.running_loss = parts_.oracle.take_mean_loss();
  for (TrainCallback* callback : callbacks_) callback->after_epoch({record, is_last});
  if (record.test) {
    state_.best_test_accuracy = std::max(state_.best_test_accuracy.value_or(0), record.test->accuracy);
  }
}

bool Trainer::is_wanted() {
  // Each of them is asked: one that saves the run must not miss that another one ends it.
  for (TrainCallback* callback : callbacks_) {
    if (!callback->goes_on(state_)) is_interrupted_ = true;
  }
  return !is_interrupted_;
}

Method& Trainer::method_of(int64_t epoch) const {
  return epoch < options_.warmup_epochs ? *parts_.warmup_method : parts_.method;
}

double Trainer::learning_rate(int64_t epoch, double progress) const {
  const double base = epoch < options_.warmup_epochs ? options_.warmup_learning_rate : options_.learning_rate;
  return base * options_.schedule.factor(progress);
}

double Trainer::progress(int64_t epoch, int64_t outer_batch) const {
  double done = 0;
  if (options_.epochs) {
    const double in_epoch =
        static_cast<double>(outer_batch) / static_cast<double>(parts_.batches.outer_batches());
    done = (static_cast<double>(epoch) + in_epoch) / static_cast<double>(*options_.epochs);
  }
  if (options_.budget_sample_gradients) {
    done = std::max(done, static_cast<double>(parts_.budget.sample_gradients()) /
                              static_cast<double>(*options_.budget_sample_gradients));
  }
  return done;
}

bool Trainer::fits_budget(int64_t cost) const {
  return !options_.budget_sample_gradients ||
         parts_.budget.sample_gradients() + cost <= *options_.budget_sample_gradients;
}

int64_t Trainer::expected_cost() {
  int64_t total = 0;
  if (options_.epochs) {
    for (const bool is_warmup : {true, false}) {
      const int64_t warmup = std::min(options_.warmup_epochs, *options_.epochs);
      const int64_t epochs = is_warmup ? warmup : *options_.epochs - warmup;
      if (epochs == 0) continue;
      const Method& method = is_warmup ? *parts_.warmup_method : parts_.method;
      parts_.batches.begin_epoch(0, method.outer_batch_size());
      for (int64_t i = 0; i < parts_.batches.outer_batches(); ++i) {
        total += epochs * method.cost(parts_.batches.outer_batch_size(i));
      }
    }
  }
  if (!options_.budget_sample_gradients) return total;
  return options_.epochs ? std::min(total, *options_.budget_sample_gradients)
                         : *options_.budget_sample_gradients;
}

}  // namespace batchplus
