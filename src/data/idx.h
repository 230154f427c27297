#pragma once

#include <filesystem>

#include "data/dataset.h"

namespace batchplus {

/// The idx files of MNIST and Fashion-MNIST (train-images-idx3-ubyte, ...), plain or with .gz, in one folder.
ImageSet read_idx_pair(const std::filesystem::path& images, const std::filesystem::path& labels,
                       int64_t classes);

Dataset load_fashion_mnist(const std::filesystem::path& folder);

/// `folder`/`name`, or the same with .gz if only that exists.
std::filesystem::path idx_path(const std::filesystem::path& folder, const std::string& name);

}  // namespace batchplus
