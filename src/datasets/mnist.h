#pragma once

#include "datasets/dataset_files.h"
#include "datasets/labelled_images.h"

namespace batchplus {

/// MNIST and Fashion-MNIST: four idx files, plain or gzip.
LabelledImages read_mnist(const DatasetLocation& location);
LabelledImages read_fashion_mnist(const DatasetLocation& location);

const std::vector<std::string>& mnist_files();

}  // namespace batchplus
