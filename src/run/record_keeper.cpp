#include "run/record_keeper.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "util/text.h"

namespace batchplus {
namespace {

/// 195 as 195 and 3.5 as 3.5.
Json compact_number(double number) {
  if (number == std::floor(number) && std::abs(number) < 1e15) return static_cast<int64_t>(number);
  return number;
}

/// The numbers of a record under TensorBoard's names: test/loss, metrics/loss_gap, ...
std::vector<std::pair<std::string, double>> scalars_of(const Json& record) {
  static const std::map<std::string, std::string> kTags = {{"running_loss", "train/running_loss"},
                                                           {"lr", "train/lr"},
                                                           {"test_loss", "test/loss"},
                                                           {"test_accuracy", "test/accuracy"},
                                                           {"validation_loss", "validation/loss"},
                                                           {"validation_accuracy", "validation/accuracy"}};
  std::vector<std::pair<std::string, double>> scalars;
  for (const auto& [key, entry] : record.items()) {
    const auto tag = kTags.find(key);
    if (tag != kTags.end() && entry.is_number()) scalars.emplace_back(tag->second, entry.get<double>());
    const bool is_metric = entry.is_object() && entry.contains("value") && entry["value"].is_number();
    if (is_metric) scalars.emplace_back(fmt::format("metrics/{}", key), entry["value"].get<double>());
  }
  return scalars;
}

/// TensorBoard's axis: runs at equal gradient evaluations are then above each other.
int64_t step_of(const Json& record) {
  return std::llround(record["gradient_evaluations"].get<double>());
}

}  // namespace

Json record_json(const EpochRecord& record, int64_t inner_batch) {
  Json json = {
      {"epoch", compact_number(record.epochs_done)},
      {"outer_steps", record.outer_steps},
      {"inner_steps", record.inner_steps},
      {"gradient_evaluations",
       compact_number(static_cast<double>(record.sample_gradients) / static_cast<double>(inner_batch))},
      {"sample_gradients", record.sample_gradients},
      {"lr", record.learning_rate},
      {"running_loss", number_or_null(record.running_loss)},
  };
  if (record.validation) {
    json["validation_loss"] = number_or_null(record.validation->loss);
    json["validation_accuracy"] = record.validation->accuracy;
  }
  if (record.test) {
    json["test_loss"] = number_or_null(record.test->loss);
    json["test_accuracy"] = record.test->accuracy;
  }
  json["seconds"] = record.train_seconds;
  if (record.metrics_seconds > 0) json["metrics_seconds"] = record.metrics_seconds;
  json.update(to_json(record.metrics));
  return json;
}

RecordKeeper::RecordKeeper(RunWriter* writer, int64_t inner_batch)
    : writer_(writer), inner_batch_(inner_batch) {
  if (writer_ == nullptr) return;
  for (const std::string& line : split(writer_->records(), '\n')) {
    if (!line.empty()) last_ = Json::parse(line);
  }
}

void RecordKeeper::add_events(const std::string& config_toml) {
  events_.emplace(writer_->layout().events());
  if (!last_.is_null()) events_->resume(step_of(last_));
  std::string indented = config_toml;
  for (size_t at = 0; (at = indented.find('\n', at)) != std::string::npos; at += 5)
    indented.insert(at + 1, "    ");
  events_->add_text("config", fmt::format("    {}", indented));
}

void RecordKeeper::after_epoch(const EpochEnd& end) {
  last_ = record_json(end.record, inner_batch_);
  if (writer_ != nullptr) writer_->record(last_);
  if (events_) events_->add_scalars(step_of(last_), scalars_of(last_));
}

}  // namespace batchplus
