#pragma once

#include <filesystem>

#include "formats/image_bytes.h"

namespace batchplus {

/// SVHN's cropped digits: a MATLAB 5 file with X, uint8 [32,32,3,n], and y, [n,1], where 10 stands for the
/// digit 0.
ImageBytes read_svhn_mat(const std::filesystem::path& path);

}  // namespace batchplus
