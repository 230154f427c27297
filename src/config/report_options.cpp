#include "config/report_options.h"

#include <algorithm>
#include <cmath>

#include "util/error.h"
#include "util/text.h"

namespace batchplus {

const std::vector<XAxis>& x_axes() {
  static const std::vector<XAxis> axes = {{"epochs", "epochs", "epoch"},
                                          {"evaluations", "gradient evaluations", "gradient_evaluations"},
                                          {"samples", "sample gradients", "sample_gradients"},
                                          {"seconds", "seconds of training", "seconds"},
                                          {"loss", "running training loss", "running_loss"},
                                          {"train-loss", "training loss, evaluated", "train_loss"}};
  return axes;
}

std::vector<double> parse_loss_levels(const std::vector<std::string>& texts, const std::string& where) {
  std::vector<double> levels;
  for (const std::string& text : texts) {
    const double level = parse_number(text, where);
    if (!std::isfinite(level) || level <= 0) {
      throw Error("value out of range", {where, text, "a training loss is more than zero"});
    }
    if (std::find(levels.begin(), levels.end(), level) != levels.end())
      throw Error("a training loss is given twice", {where, text, "give each level once"});
    levels.push_back(level);
  }
  return levels;
}

int64_t require_window(int64_t points, const std::string& where) {
  if (points >= 1 && points % 2 == 1) return points;
  throw Error("value out of range",
              {where, std::to_string(points),
               "an odd number: a point, and as many before it as behind it; 1: no moving average"});
}

}  // namespace batchplus
