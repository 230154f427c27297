#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/config_options.h"
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

struct EvalCommand {
  std::string weights;
  std::string split = "test";
  std::string out;
  /// Options that are those of `train`.
  ConfigOverrides overrides;
};

const OwnFiles kOwnFiles = {.kind = "evaluation",
                            .json = "eval.json",
                            .keys = {"samples", "accuracy", "class_accuracy"},
                            .others = {"confusion.csv", "confusion.png"}};

void write_files(const EvalCommand& command, const RunConfig& config, const ConfusionMatrix& matrix,
                 const Json& result) {
  const fs::path folder = command.out;
  const std::string title = fmt::format("{} on {} ({}): {:.2f} %", config.model, config.dataset,
                                        command.split, result["accuracy"].get<double>());
  write_file_atomically(folder / "confusion.csv", to_csv(matrix));
  write_file_atomically(folder / "confusion.png", draw(matrix, title));
  write_file_atomically(folder / "eval.json", result.dump(1) + "\n");
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

int run_eval(const EvalCommand& command, const GlobalOptions& options) {
  command.overrides.require_model_and_dataset("");
  RunConfig config;
  command.overrides.apply(config);
  const DatasetInfo info = find_dataset(config.dataset);
  const NetworkPlan network = resolve_network(config, info);
  if (!command.out.empty()) require_free_for(kOwnFiles, command.out);
  StateDictFile weights = read_weight_file(command.weights);
  const Dataset dataset = load_dataset(config, info);
  const DataPlan data = resolve_data(config, describe(info, dataset));
  const Model model = build_network(network);
  const std::string note = note_on_weights(weights);
  load_weights(*model.module, std::move(weights), command.weights);
  const torch::Device device = parse_device(options.device);
  model.module->to(device);

  const DatasetViews views = make_views(dataset, data.views);
  const ImageView& view = command.split == "test" ? views.test : views.train;
  const Samples samples = samples_of(view, data.normalization, device, model.memory_format);
  const DetailedEvaluation detailed = evaluate_in_detail(model, samples);
  require_finite_outputs(detailed.overall, command.weights);
  const ConfusionMatrix matrix{dataset.class_names, detailed.confusion};
  Json result = to_json(detailed, matrix);
  result["notes"] = note.empty() ? Json::array() : Json::array({note});
  if (!command.out.empty()) write_files(command, config, matrix, result);
  if (options.is_json) {
    fmt::print("{}\n", result.dump());
  } else {
    print_result(command, config, matrix, result);
  }
  if (!note.empty()) tell("note: {}\n", note);
  return 0;
}

}  // namespace

void add_eval_command(CLI::App& app, GlobalOptions& options, CommandAction& action) {
  CLI::App* eval = app.add_subcommand("eval", "accuracy and loss of a weight file");
  add_global_options(*eval, options);
  auto command = std::make_shared<EvalCommand>();
  eval->add_option("--weights", command->weights, "PyTorch state dict, or a run's weights.pt")->required();
  eval->add_option("--split", command->split, "test or train")->check(CLI::IsMember({"test", "train"}));
  eval->add_option("--out", command->out, "folder for confusion.csv, confusion.png and eval.json");
  add_config_options(*eval, command->overrides, [](const ConfigField& field) {
    using Topic = ConfigField::Topic;
    return (field.topic == Topic::kData || field.topic == Topic::kNetwork) && !is_for_training_alone(field);
  });
  eval->callback(
      [command, &options, &action] { action = [command, &options] { return run_eval(*command, options); }; });
}

}  // namespace batchplus
