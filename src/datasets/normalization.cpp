#include "datasets/normalization.h"

#include <fmt/format.h>

#include <algorithm>

#include "datasets/registry.h"
#include "util/error.h"
#include "util/text.h"

namespace batchplus {

Normalization parse_normalization(const std::string& text, const DatasetInfo& dataset) {
  const auto channels = static_cast<size_t>(dataset.channels);
  if (text == "auto") return dataset.normalization;
  if (text == "none") return {std::vector<double>(channels, 0.0), std::vector<double>(channels, 1.0)};
  const std::string where = "normalize";
  Normalization normalization;
  if (text == "imagenet") {
    normalization = {{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}};
  } else {
    const auto halves = split(text, '/');
    if (halves.size() != 2) {
      throw Error("not a normalisation",
                  {where, text, "auto, none, imagenet, or means/stds like 0.5,0.5,0.5/0.2,0.2,0.2"});
    }
    for (const auto& number : split(halves[0], ','))
      normalization.mean.push_back(parse_number(number, where));
    for (const auto& number : split(halves[1], ',')) normalization.std.push_back(parse_number(number, where));
  }
  const bool is_usable = normalization.mean.size() == channels && normalization.std.size() == channels &&
                         std::all_of(normalization.std.begin(), normalization.std.end(),
                                     [](double std) { return std > 0 && std < 1e30; });
  if (!is_usable) {
    throw Error(
        "normalisation does not fit the dataset",
        {where, text,
         fmt::format("{} has {} channels; standard deviations must be positive", dataset.name, channels)});
  }
  return normalization;
}

}  // namespace batchplus
