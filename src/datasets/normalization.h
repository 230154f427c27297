#pragma once

#include <string>
#include <vector>

namespace batchplus {

struct DatasetInfo;

/// Channel-wise (pixel / 255 - mean) / std.
struct Normalization {
  std::vector<double> mean;
  std::vector<double> std;
};

/// auto, none, imagenet, or M,M,M/S,S,S.
Normalization parse_normalization(const std::string& text, const DatasetInfo& dataset);

}  // namespace batchplus
