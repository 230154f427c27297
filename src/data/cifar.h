#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace batchplus {

/// CIFAR-10 in the official binary layout: records of one label byte and 3072 pixel bytes (planes R, G, B).
Dataset load_cifar10(const std::filesystem::path& folder);

/// The files that make up CIFAR-10, the training ones first.
const std::vector<std::string>& cifar10_files();

}  // namespace batchplus
