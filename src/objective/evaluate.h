#pragma once

#include "data/samples.h"
#include "group/group.h"
#include "networks/model.h"

namespace batchplus {

struct Evaluation {
  int64_t samples = 0;
  /// Mean softmax cross-entropy, without regularisation.
  double loss = 0;
  /// Percent.
  double accuracy = 0;
};

/// Loss and accuracy in evaluation mode. The model's mode is as before afterwards. The ranks of a group share
/// the samples out; the result has the same bits for any number of them.
Evaluation evaluate(const Model& model, const Samples& samples, Group* group = nullptr);

struct DetailedEvaluation {
  Evaluation overall;
  /// Percent of the samples whose class is among the five most likely; with fewer classes, 100.
  double top5_accuracy = 0;
  /// [classes][classes]: how often the class of the row was taken for that of the column.
  std::vector<int64_t> confusion;
};

/// The same, and which classes were taken for which.
DetailedEvaluation evaluate_in_detail(const Model& model, const Samples& samples);

/// An Error that names the weights when their loss is not finite: of outputs that are not finite there is no
/// class that they say.
void require_finite_outputs(const Evaluation& evaluation, const std::string& weights);

}  // namespace batchplus
