#include "config/config_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "util/error.h"
#include "util/text.h"

namespace batchplus {
namespace {

using Kind = ConfigField::Kind;

ConfigField text(std::string key, std::string RunConfig::*member, std::string help) {
  return {
      std::move(key), std::move(help), Kind::kText,
      [member](RunConfig& config, const std::string& value, const std::string&) { config.*member = value; },
      [member](const RunConfig& config) { return config.*member; }};
}

ConfigField incidental(ConfigField field) {
  field.decides_result = false;
  return field;
}

ConfigField choice(std::string key, std::string RunConfig::*member, std::vector<std::string> choices,
                   const std::string& help) {
  ConfigField field = text(std::move(key), member, fmt::format("{}: {}", help, join(choices, ", ")));
  field.choices = choices;
  field.set = [member, choices](RunConfig& config, const std::string& value, const std::string& where) {
    if (std::find(choices.begin(), choices.end(), value) == choices.end()) {
      throw Error("not one of the choices", {where, value, suggest_name(value, choices)});
    }
    config.*member = value;
  };
  return field;
}

/// What a number must be, and the words for it.
struct NumberRule {
  double least = 0;
  bool is_least_allowed = true;
  const char* words = "zero or more";
  double less_than = std::numeric_limits<double>::infinity();
};
constexpr NumberRule kNotNegative{};
constexpr NumberRule kPositive{0, false, "more than zero"};
constexpr NumberRule kBelowOne{0, true, "zero or more, and less than one", 1};
constexpr NumberRule kAtLeastTwo{2, true, "two or more"};

template <class Number>
Number checked(const std::string& value, const std::string& where, NumberRule rule) {
  Number number{};
  if constexpr (std::is_same_v<Number, double>) {
    number = parse_number(value, where);
  } else {
    number = parse_integer(value, where);
  }
  const auto as_double = static_cast<double>(number);
  const bool is_finite = std::isfinite(as_double);
  const bool is_allowed = is_finite && as_double < rule.less_than &&
                          (rule.is_least_allowed ? as_double >= rule.least : as_double > rule.least);
  if (!is_allowed) {
    throw Error(
        "value out of range",
        {where, value, fmt::format("must be {}{}", is_finite ? "" : "a finite number, ", rule.words)});
  }
  return number;
}

template <class Number>
constexpr Kind kind_of() {
  return std::is_same_v<Number, double> ? Kind::kNumber : Kind::kInteger;
}

std::string format_value(double value) {
  return format_number(value);
}
std::string format_value(int64_t value) {
  return std::to_string(value);
}

template <class Number>
ConfigField number(std::string key, Number RunConfig::*member, NumberRule rule, std::string help) {
  return {std::move(key), std::move(help), kind_of<Number>(),
          [member, rule](RunConfig& config, const std::string& value, const std::string& where) {
            config.*member = checked<Number>(value, where, rule);
          },
          [member](const RunConfig& config) { return format_value(config.*member); }};
}

template <class Number>
ConfigField optional_number(std::string key, std::optional<Number> RunConfig::*member, NumberRule rule,
                            std::string help) {
  return {std::move(key), std::move(help), kind_of<Number>(),
          [member, rule](RunConfig& config, const std::string& value, const std::string& where) {
            config.*member = checked<Number>(value, where, rule);
          },
          [member](const RunConfig& config) {
            return config.*member ? format_value(*(config.*member)) : std::string();
          }};
}

/// Evaluation statistics, or a batch's own held fixed; training mode is refused with the reason.
ConfigField batch_norm_statistics(std::string key, std::string RunConfig::*member) {
  ConfigField field =
      choice(std::move(key), member, {"eval", "batch"}, "statistics of BatchNorm in gradient norms");
  field.set = [set = field.set](RunConfig& config, const std::string& value, const std::string& where) {
    if (value == "train") {
      throw Error(
          "the gradient of one sample is not defined in training mode",
          {where, value,
           "BatchNorm's statistics tie the samples of a batch together; eval takes the running statistics, "
           "batch those of the batch held fixed"});
    }
    set(config, value, where);
  };
  return field;
}

/// Before there was a choice, libtorch computed all layers.
ConfigField kernels_of_layers(std::string key, std::string RunConfig::*member) {
  ConfigField field = choice(std::move(key), member, {"fast", "direct", "aten"}, "");
  field.help = "code that computes the layers on a CPU: fast, direct (without Winograd) or aten (libtorch)";
  field.left_out_of_id = "aten";
  return field;
}

/// Which bits own kernels give. Not asked for: a program has one revision. libtorch's kernels have none,
/// which counts as the first.
ConfigField revision_of_kernels(std::string key, int64_t RunConfig::*member) {
  static constexpr int64_t kFirst = 1;
  ConfigField field = number(std::move(key), member, kPositive, "revision of own kernels");
  field.get = [member](const RunConfig& config) {
    return format_value(config.kernels == "aten" ? kFirst : config.*member);
  };
  field.is_option = false;
  field.left_out_of_id = format_value(kFirst);
  return field;
}

/// Before there was a choice, networks had BatchNorm.
ConfigField normalization_of_layers(std::string key, std::string RunConfig::*member) {
  ConfigField field =
      choice(std::move(key), member, {"batch", "group", "none"}, "normalisation layers of the network");
  field.left_out_of_id = "batch";
  return field;
}

/// All runs had that value before there was the field.
ConfigField younger(ConfigField field, std::string value) {
  field.left_out_of_id = std::move(value);
  return field;
}

/// Of how many processes. Not asked for as a number: --batch-norm local says it of those that there are.
ConfigField processes_of_moments(std::string key, int64_t RunConfig::*member) {
  ConfigField field = number(std::move(key), member, kNotNegative,
                             "BatchNorm's moments are those of the samples of each of so many processes; 0: "
                             "of the whole inner batch");
  field.is_option = false;
  return field;
}

struct TopicFields {
  ConfigField::Topic topic;
  std::vector<ConfigField> fields;
};

std::vector<ConfigField> join_topics(const std::vector<TopicFields>& topics) {
  std::vector<ConfigField> all;
  for (const auto& [topic, fields] : topics) {
    for (ConfigField field : fields) {
      field.topic = topic;
      all.push_back(std::move(field));
    }
  }
  return all;
}

}  // namespace

const std::vector<ConfigField>& config_fields() {
  using C = RunConfig;
  using Topic = ConfigField::Topic;
  static const std::vector<ConfigField> fields = join_topics({
      {Topic::kData,
       {
           text("dataset", &C::dataset, "dataset; 'batchplus data list' shows them"),
           incidental(text("data_dir", &C::data_dir,
                           "where datasets are (default: $BATCHPLUS_DATA, else the user's cache)")),
           number("train_limit", &C::train_limit, kNotNegative,
                  "train on so many samples, classes in proportion; 0: all"),
           number("test_limit", &C::test_limit, kNotNegative,
                  "test on so many samples, classes in proportion; 0: all"),
           number(
               "validation", &C::validation, kNotNegative,
               "hold so many training samples out for validation, classes in proportion; the last ones with "
               "{sampling} sequential"),
           number("split_seed", &C::split_seed, kNotNegative,
                  "chooses the samples of the limits and the validation set, but not with {sampling} "
                  "sequential"),
           choice("augment", &C::augment, {"auto", "none", "standard"}, "mirroring and 4-pixel padded crops"),
           younger(number("cutout", &C::cutout, kNotNegative,
                          "mask a square of so many pixels a side in every training image; 0: none"),
                   "0"),
           younger(
               number(
                   "mixup", &C::mixup, kNotNegative,
                   "mix the samples of an inner batch in pairs, by a share drawn from Beta(a, a) with this "
                   "a; 0: not"),
               "0"),
           text("normalize", &C::normalize, "auto, none, imagenet, or means/stds: M,M,M/S,S,S"),
           choice(
               "sampling", &C::sampling, {"epoch", "independent", "sequential"},
               "how outer batches are drawn; sequential takes the file's order and the first {train_limit} "
               "records"),
       }},
      {Topic::kNetwork,
       {
           text("model", &C::model, "network; 'batchplus models' shows them"),
           optional_number("dropout", &C::dropout, kNotNegative,
                           "dropout probability (default: the network's own)"),
           normalization_of_layers("normalization", &C::normalization),
           text("init", &C::init, "PyTorch state dict to start from"),
           kernels_of_layers("kernels", &C::kernels),
           revision_of_kernels("kernels_revision", &C::kernels_revision),
       }},
      {Topic::kTraining,
       {
           text("method", &C::method, "optimiser; 'batchplus methods' shows them"),
           text("coefficient", &C::coefficient,
                "c of the control variate: a number, or linear:C to decay it to 0"),
           text("update_rule", &C::update_rule,
                "plain, heavy-ball, nesterov, adam or adamw (default: the method's own)"),
           number("momentum", &C::momentum, kNotNegative, "momentum of heavy-ball and nesterov"),
           optional_number("beta1", &C::beta1, kBelowOne,
                           "what stays of the mean gradient at a step of adam and adamw (default: 0.9)"),
           optional_number("beta2", &C::beta2, kBelowOne,
                           "what stays of the mean squared gradient (default: 0.999)"),
           optional_number("epsilon", &C::epsilon, kPositive, "added to its root (default: 1e-8)"),
           number("radius", &C::radius, kNotNegative, "rho of sam"),
           number("lr", &C::lr, kPositive, "learning rate"),
           number("inner_batch", &C::inner_batch, kPositive, "b: samples of an inner step"),
           text("outer_batch", &C::outer_batch,
                "B: samples of an outer batch: a number, a multiple of b like 2x, or all"),
           optional_number(
               "epochs", &C::epochs, kPositive,
               "passes over the training samples (default: 10, or unlimited with {budget_epochs})"),
           optional_number("budget_epochs", &C::budget_epochs, kPositive,
                           "stop after so many times n sample gradients"),
           text("schedule", &C::schedule,
                "constant, step:0.4,0.6,0.8/10, cosine, or one of them with warmup:0.05+ before it"),
           number("weight_decay", &C::weight_decay, kNotNegative,
                  "L2 regularisation; adamw takes it off the weights"),
           younger(number("label_smoothing", &C::label_smoothing, kBelowOne,
                          "what all classes share of a label's probability, in the training loss"),
                   "0"),
           younger(
               number("average", &C::average, kBelowOne,
                      "decay of a moving average of the weights, which is what is evaluated, measured and "
                      "written; 0: none"),
               "0"),
           younger(processes_of_moments("local_batch_norm", &C::local_batch_norm), "0"),
           number("warmup_epochs", &C::warmup_epochs, kNotNegative,
                  "begin with so many epochs of {warmup_method}"),
           text("warmup_method", &C::warmup_method,
                "method of the warm-up epochs, with the outer batch, coefficient and update rule that it has "
                "by "
                "default"),
           optional_number("warmup_lr", &C::warmup_lr, kPositive,
                           "learning rate of the warm-up epochs (default: {lr})"),
           choice("snapshot_gradients", &C::snapshot_gradients, {"auto", "cache", "recompute"},
                  "keep the snapshot's inner gradients or compute them again"),
           text("snapshot_memory", &C::snapshot_memory,
                "auto keeps them while they fit in so much, like 512M or 2G"),
           number("eval_every", &C::eval_every, kPositive,
                  "evaluate after every so many epochs, and at the end"),
       }},
      {Topic::kMetrics,
       {
           text("metrics", &C::metrics,
                "what to measure while training: groups that the help of 'batchplus measure' lists, or all"),
           number("metrics_every", &C::metrics_every, kPositive,
                  "measure after every so many epochs, and at the end"),
           optional_number(
               "metrics_samples", &C::metrics_samples, kNotNegative,
               "training samples to measure on, classes in proportion, or the first ones with {sampling} "
               "sequential; 0: all (default: all for gradient norms and gaps, 2000 for hessian and "
               "sharpness)"),
           text("metrics_memory", &C::metrics_memory, "memory for measuring, like 512M or 1G"),
           batch_norm_statistics("metrics_batchnorm", &C::metrics_batchnorm),
           number("hessian_eigenvalues", &C::hessian_eigenvalues, kPositive,
                  "how many of the largest eigenvalues"),
           number("hessian_products", &C::hessian_products, kPositive, "Hessian products for them, at most"),
           number("trace_draws", &C::trace_draws, kAtLeastTwo, "random vectors for the Hessian's trace"),
           number("sharpness_sigma", &C::sharpness_sigma, kPositive,
                  "variance of each weight's perturbation in S_sigma"),
           optional_number("sharpness_eta", &C::sharpness_eta, kPositive,
                           "step length in S_phi (default: {lr})"),
           number("sharpness_draws", &C::sharpness_draws, kAtLeastTwo, "perturbations to average over"),
           optional_number("pl_constant", &C::pl_constant, kPositive,
                           "P-L constant mu of the bound (default: the least local ratio)"),
       }},
      {Topic::kTraining,
       {
           number("seed", &C::seed, kNotNegative, "seed of initial weights, order, augmentation and dropout"),
           incidental(
               text("checkpoint_every", &C::checkpoint_every,
                    "save the run in its directory after so many epochs (1, 0.25), after a time (10m), "
                    "or never; 1,10m: whichever comes first")),
           incidental(text("out", &C::out, "run directory to write")),
           incidental(text("save_weights", &C::save_weights,
                           "file to write the final weights to, as a PyTorch state dict")),
       }},
  });
  return fields;
}

std::string suggest_key(const std::string& name, const std::vector<std::string>& keys) {
  static const std::map<std::string, std::string> kOurWords = {
      {"learning_rate", "lr"}, {"batch_size", "inner_batch"}, {"optimizer", "method"},
      {"optimiser", "method"}, {"network", "model"},          {"arch", "model"},
      {"num_epochs", "epochs"}};
  const auto ours = kOurWords.find(name);
  const bool is_known =
      ours != kOurWords.end() && std::find(keys.begin(), keys.end(), ours->second) != keys.end();
  return is_known ? fmt::format("did you mean '{}'?", ours->second) : suggest_name(name, keys);
}

RunConfig defaults_of_older_runs() {
  RunConfig config;
  for (const auto& field : config_fields()) {
    if (!field.left_out_of_id.empty()) field.set(config, field.left_out_of_id, field.key);
  }
  return config;
}

}  // namespace batchplus
