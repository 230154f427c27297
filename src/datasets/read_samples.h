#pragma once

#include <cstdint>

#include "datasets/registry.h"

namespace batchplus {

/// Reads the files of a dataset that has a list of them, and checks that the images are what the row says.
LabelledImages read_samples(const DatasetInfo& info, const DatasetLocation& location);

struct SampleCounts {
  int64_t train = 0;
  int64_t test = 0;
};

/// Reads all files of any dataset to see whether they can be read, and counts the samples.
SampleCounts count_samples(const DatasetInfo& info, const DatasetLocation& location);

}  // namespace batchplus
