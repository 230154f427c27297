#pragma once

#include <filesystem>
#include <string>

#include "data/load_dataset.h"
#include "run/run_plan.h"
#include "store/run_directory.h"

namespace batchplus {

/// The dataset of a run, as the run sees it.
struct RunData {
  Dataset dataset;
  DatasetViews views;
};

Dataset load_dataset(const RunConfig& config, const DatasetInfo& info);

/// What a run is given besides its config, as provenance.json has it under kInputs: digests of all its
/// samples and, unless `init` is empty, of the weights in that file.
Json digest_inputs(const DatasetViews& views, const std::string& init);

/// An Error that names what is not as recorded, if anything is. Only what both have is compared.
void require_same_inputs(const Json& recorded, const Json& now, const RunConfig& config,
                         const std::string& hint);

/// The inputs that a run directory recorded; an empty object when it did not, or cannot be read.
Json recorded_inputs(const RunLayout& layout);

/// A note when the weights lie in the directory of a run that normalised its images otherwise: what is
/// measured is then not that run's. Empty when there is nothing to say.
std::string note_on_normalization(const std::filesystem::path& weights, const DataPlan& data);

/// Tells other training data apart: a digest of all labels and of a thousand images.
std::string fingerprint(const ImageView& view);

}  // namespace batchplus
