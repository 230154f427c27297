#pragma once

#include "datasets/dataset_files.h"
#include "datasets/labelled_images.h"

namespace batchplus {

/// CIFAR-10 and CIFAR-100 (fine labels) in the official binary layout, from a folder or the official .tar.gz.
LabelledImages read_cifar10(const DatasetLocation& location);
LabelledImages read_cifar100(const DatasetLocation& location);

/// The files that make them up, the test file last.
const std::vector<std::string>& cifar10_files();
const std::vector<std::string>& cifar100_files();

}  // namespace batchplus
