#include <fmt/format.h>

#include <memory>

#include "commands/commands.h"
#include "commands/environment.h"
#include "networks/weight_file.h"
#include "objective/evaluate.h"
#include "report/confusion_matrix.h"
#include "run/run_data.h"
#include "store/own_files.h"
#include "util/file.h"
#include "util/standard_streams.h"
#include "util/text.h"

namespace batchplus {
namespace {

namespace fs = std::filesystem;

const OwnFiles kOwnFiles = {.kind = "evaluation",
                            .json = "eval.json",
                            .keys = {"samples", "accuracy", "class_accuracy"},
                            .others = {"confusion.csv", "confusion.png"}};

void write_files(const EvalCommand& command, const RunConfig& config, const ConfusionMatrix& matrix,
                 const Json& result) {
  const fs::path folder = command.out;
  const std::string title = fmt::format("{} on {} ({}): {:.2f} %", config.model, config.dataset,
                                        command.split, result["accuracy"].get<double>());
  write_own_files(kOwnFiles, folder, result,
                  {{"confusion.csv", to_csv(matrix)}, {"confusion.png", draw(matrix, title)}});
}

void print_result(const EvalCommand& command, const RunConfig& config, const ConfusionMatrix& matrix,
                  const Json& result) {
  fmt::print("{} samples of {} ({}): accuracy {:.2f} %, loss {:.4f}", format_count(result["samples"]),
             config.dataset, command.split, result["accuracy"].get<double>(), result["loss"].get<double>());
  if (result.contains("top5_accuracy")) fmt::print(", top-5 {:.2f} %", result["top5_accuracy"].get<double>());
  fmt::print("\n");
  for (size_t c = 0; c < matrix.classes.size(); ++c) {
    if (matrix.samples(c) == 0) continue;
    fmt::print("  {:<16}{:6.2f} % of {}\n", matrix.classes[c], matrix.accuracy(c),
               format_count(matrix.samples(c)));
  }
  if (!command.out.empty())
    fmt::print("Confusion matrix: {0}/confusion.csv and {0}/confusion.png\n", command.out);
}

Json to_json(const DetailedEvaluation& detailed, const ConfusionMatrix& matrix) {
  Json result = {{"samples", detailed.overall.samples},
                 {"loss", detailed.overall.loss},
                 {"accuracy", detailed.overall.accuracy}};
  constexpr size_t kManyClasses = 20;
  if (matrix.classes.size() > kManyClasses) result["top5_accuracy"] = detailed.top5_accuracy;
  Json per_class = Json::object();
  for (size_t c = 0; c < matrix.classes.size(); ++c) {
    if (matrix.samples(c) > 0) per_class[matrix.classes[c]] = matrix.accuracy(c);
  }
  result["class_accuracy"] = per_class;
  return result;
}

}  // namespace

int run_eval(const EvalCommand& command, const GlobalOptions& options) {
  command.overrides.require_model_and_dataset("");
  const torch::Device device = device_to_compute_on(options);
  RunConfig config;
  command.overrides.apply(config);
  const DatasetInfo info = find_dataset(config.dataset);
  const NetworkPlan network = resolve_network(config, info);
  if (!command.out.empty()) require_free_for(kOwnFiles, command.out);
  StateDictFile weights = read_weight_file(command.weights);
  const Dataset dataset = load_dataset(config, info);
  const DataPlan data = resolve_data(config, describe(info, dataset));
  const Model model = build_network(network);
  Json notes = Json::array();
  for (const std::string& note : {note_on_weights(weights), note_on_normalization(command.weights, data)}) {
    if (!note.empty()) notes.push_back(note);
  }
  load_weights(*model.module, std::move(weights), command.weights);
  model.module->to(device);

  const DatasetViews views = make_views(dataset, data.views);
  const ImageView& view = command.split == "test" ? views.test : views.train;
  const Samples samples = samples_of(view, data.normalization, device, model.memory_format);
  const DetailedEvaluation detailed = evaluate_in_detail(model, samples);
  require_finite_outputs(detailed.overall, command.weights);
  const ConfusionMatrix matrix{dataset.class_names, detailed.confusion};
  Json result = to_json(detailed, matrix);
  result["notes"] = notes;
  if (!command.out.empty()) write_files(command, config, matrix, result);
  if (options.is_json) {
    fmt::print("{}\n", result.dump());
  } else {
    print_result(command, config, matrix, result);
  }
  for (const Json& note : notes) tell("note: {}\n", note.get<std::string>());
  return 0;
}

}  // namespace batchplus
