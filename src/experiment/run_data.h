#pragma once

#include "data/image_view.h"
#include "data/registry.h"
#include "experiment/run_config.h"
#include "layers/layer.h"
#include "networks/model.h"

namespace batchplus {

/// The dataset of a config, as a run sees it.
struct RunData {
  Dataset dataset;
  DatasetViews views;
  Normalization normalization;
};

/// Loads it and fills in what the config left to the dataset's defaults, so that the config is complete.
RunData load_run_data(RunConfig& config);

/// Tells other training data apart: a digest of all labels and of a thousand images.
std::string fingerprint(const ImageView& view);

/// The kernels that the config names.
Kernels kernels_of(const RunConfig& config);

/// The config's network for this dataset, initialised by its seed, with the config's kernels.
Model build_run_network(const RunConfig& config, const Dataset& dataset);

}  // namespace batchplus
