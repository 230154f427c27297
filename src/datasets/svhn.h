#pragma once

#include "datasets/dataset_files.h"
#include "datasets/labelled_images.h"

namespace batchplus {

/// SVHN, cropped digits: train_32x32.mat and test_32x32.mat.
LabelledImages read_svhn(const DatasetLocation& location);

const std::vector<std::string>& svhn_files();

}  // namespace batchplus
