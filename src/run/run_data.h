#pragma once

#include "run/run_plan.h"

namespace batchplus {

/// The dataset of a run, as the run sees it.
struct RunData {
  Dataset dataset;
  DatasetViews views;
};

Dataset load_dataset(const RunConfig& config, const DatasetInfo& info);

/// Tells other training data apart: a digest of all labels and of a thousand images.
std::string fingerprint(const ImageView& view);

}  // namespace batchplus
