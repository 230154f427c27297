#pragma once

#include "data/dataset.h"
#include "data/dataset_files.h"

namespace batchplus {

/// SVHN, cropped digits: train_32x32.mat and test_32x32.mat.
Dataset load_svhn(const DatasetLocation& location);

const std::vector<std::string>& svhn_files();

}  // namespace batchplus
