#include "run/settled_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "config/config_fields.h"
#include "run/run_plan.h"
#include "util/error.h"
#include "util/text.h"

namespace batchplus {
namespace {

using Text = std::string RunConfig::*;

struct Settled {
  const char* key;
  Text value;
  /// What stands for the default.
  const char* unsettled;
};

/// A value that a config keeps, and the one that its method or dataset would have by itself.
struct Kept {
  const char* key;
  std::string value;
  std::string own;
};

RunConfig complete(RunConfig config) {
  config.save_weights.clear();  // nothing is written
  return resolve(config, find_dataset(config.dataset)).complete;
}

/// Which of these values, that nobody gave by hand, are others than the config would have by itself.
std::vector<Kept> find_kept(const RunConfig& asked, const std::vector<Settled>& values,
                            const std::vector<std::string>& given) {
  std::vector<Settled> inherited;
  RunConfig own = asked;
  for (const Settled& value : values) {
    const bool is_given = std::find(given.begin(), given.end(), value.key) != given.end();
    if (is_given || asked.*value.value == value.unsettled) continue;
    inherited.push_back(value);
    own.*value.value = value.unsettled;
  }
  if (inherited.empty()) return {};
  const RunConfig completed = complete(own);
  std::vector<Kept> kept;
  for (const Settled& value : inherited) {
    RunConfig with_it = own;
    with_it.*value.value = asked.*value.value;
    const auto is_the_same = [&] {
      try {
        return complete(with_it).*value.value == completed.*value.value;
      } catch (const Error&) {
        return false;  // the method has no such thing
      }
    };
    if (!is_the_same()) kept.push_back({value.key, asked.*value.value, completed.*value.value});
  }
  return kept;
}

void require_own_method(const RunConfig& file, const RunConfig& asked,
                        const std::vector<std::string>& given) {
  if (file.method == asked.method) return;
  RunConfig without_moments = asked;  // adam's are in the file, and another update rule refuses them
  without_moments.beta1 = without_moments.beta2 = without_moments.epsilon = std::nullopt;
  const std::vector<Kept> kept = find_kept(without_moments,
                                           {{"coefficient", &RunConfig::coefficient, ""},
                                            {"update_rule", &RunConfig::update_rule, ""},
                                            {"outer_batch", &RunConfig::outer_batch, ""}},
                                           given);
  if (kept.empty()) return;
  std::vector<std::string> values;
  std::vector<std::string> options;
  for (const Kept& value : kept) {
    values.push_back(fmt::format("{} = {}", value.key, value.value));
    options.push_back(value.own.empty() ? fmt::format("{} has none", value.key)
                                        : fmt::format("{{{}}} {}", value.key, value.own));
  }
  throw Error(fmt::format("the file has values of another method, {}", file.method),
              {"method", fmt::format("{}, and of the file {}", asked.method, join(values, ", ")),
               fmt::format("give them too, or take them out of the file; {}'s own: {}", asked.method,
                           join(options, ", "))});
}

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

std::vector<std::string> note_settled_values(const RunConfig& file, const RunConfig& asked,
                                             const std::vector<std::string>& given) {
  require_own_method(file, asked, given);
  std::vector<std::string> notes;
  const auto is_given = [&](const char* key) {
    return std::find(given.begin(), given.end(), key) != given.end();
  };
  if (file.inner_batch != asked.inner_batch && !is_given("outer_batch") && is_number(asked.outer_batch)) {
    const int64_t outer = parse_integer(asked.outer_batch, "outer_batch");
    if (outer / file.inner_batch != outer / asked.inner_batch) {
      notes.push_back(fmt::format("the file's outer_batch = {} stays, so that K is {} and not {}", outer,
                                  outer / asked.inner_batch, outer / file.inner_batch));
    }
  }
  if (file.dataset != asked.dataset) {
    for (const Kept& value : find_kept(
             asked, {{"normalize", &RunConfig::normalize, "auto"}, {"augment", &RunConfig::augment, "auto"}},
             given))
      notes.push_back(fmt::format("the file's {} = {} stays; {}'s own is {}", value.key, value.value,
                                  asked.dataset, value.own));
  }
  return notes;
}

}  // namespace batchplus
