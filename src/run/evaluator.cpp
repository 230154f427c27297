#include "run/evaluator.h"

#include "data/samples.h"

namespace batchplus {

Evaluator::Evaluator(const Model& model, const DatasetViews& views, const Normalization& normalization,
                     torch::Device device, int64_t every, Group* group)
    : model_(model),
      views_(views),
      normalization_(normalization),
      device_(device),
      every_(every),
      group_(group) {}

void Evaluator::after_epoch(const EpochEnd& end) {
  if (!end.is_due(every_)) return;
  end.record.test = evaluate_on(views_.test);
  if (views_.validation.size() > 0) end.record.validation = evaluate_on(views_.validation);
}

Evaluation Evaluator::evaluate_on(const ImageView& view) const {
  return evaluate(model_, samples_of(view, normalization_, device_, model_.memory_format), group_);
}

}  // namespace batchplus
