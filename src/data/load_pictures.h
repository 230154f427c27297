#pragma once

#include <filesystem>

#include "data/dataset.h"

namespace batchplus {

/// The pictures of a folder (list_pictures) as 3x32x32. Those of another size are resized: bilinear with
/// antialiasing, the sides' ratio is not kept.
Dataset load_pictures(const std::filesystem::path& path);

}  // namespace batchplus
