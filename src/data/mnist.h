#pragma once

#include "data/dataset.h"
#include "data/dataset_files.h"

namespace batchplus {

/// MNIST and Fashion-MNIST: four idx files, plain or gzip.
Dataset load_mnist(const DatasetLocation& location);
Dataset load_fashion_mnist(const DatasetLocation& location);

const std::vector<std::string>& mnist_files();

}  // namespace batchplus
