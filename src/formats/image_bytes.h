#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace batchplus {

/// Labelled images as bytes, before they become tensors.
struct ImageBytes {
  int64_t channels = 0;
  int64_t height = 0;
  int64_t width = 0;
  /// [n][C][H][W]
  std::vector<uint8_t> pixels = {};
  /// [n]
  std::vector<int64_t> labels = {};

  int64_t size() const { return static_cast<int64_t>(labels.size()); }
};

/// An Error unless 0 <= label < classes. `where` names the file and the offset.
void require_label(int64_t label, int64_t classes, const std::string& where, int64_t offset);

/// The most that deflate can expand its input: a header that claims more is not believed.
inline constexpr int64_t kMaximumInflation = 1032;

}  // namespace batchplus
