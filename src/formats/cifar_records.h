#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/image_bytes.h"

namespace batchplus {

/// The label bytes that begin a record of CIFAR's binary files: how many classes each of them counts. The
/// last one is the label; 3072 pixel bytes follow (planes R, G, B of 32 x 32).
using CifarLabels = std::vector<int64_t>;

inline const CifarLabels kCifar10Labels = {10};
/// The coarse label, then the fine one.
inline const CifarLabels kCifar100Labels = {20, 100};

/// Appends the records of a file. `where` names it in errors.
void append_cifar_records(std::string_view bytes, const CifarLabels& layout, const std::string& where,
                          ImageBytes& images);

}  // namespace batchplus
