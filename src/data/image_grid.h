#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.h"
#include "formats/png_image.h"

namespace batchplus {

/// Rows of small images of one size, each row with its label.
struct ImageGrid {
  struct Row {
    std::string label;
    std::vector<RgbImage> images;
  };
  std::string title;
  /// Above the columns; may be empty.
  std::vector<std::string> column_titles;
  std::vector<Row> rows;
};

struct SampleGridOptions {
  int64_t columns = 10;
  /// Each row is one sample as it is, and then as training sees it in epochs 0, 1, ...
  bool is_augmented = false;
  uint64_t seed = 1;
};

/// A row for each class: its first samples in the order of the file.
ImageGrid sample_grid(const ImageSet& set, const std::vector<std::string>& class_names,
                      const SampleGridOptions& options);

/// The grid as a PNG, the images enlarged by whole pixels, with title and labels. More rows than 25 stand in
/// several blocks side by side.
std::string draw_grid(const ImageGrid& grid);
/// Whether draw_grid made the file, and nobody changed it since.
bool is_drawn_grid(std::string_view png);

}  // namespace batchplus
