#include "data/image_grid.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/augmentation.h"
#include "formats/canvas.h"
#include "util/error.h"

namespace batchplus {
namespace {

constexpr int kScale = 2;
constexpr int kGap = 3;
constexpr int kMargin = 16;
constexpr int kHeading = 24;
constexpr int64_t kRowsPerBlock = 25;

/// [C,H,W] bytes as a picture; one channel is grey.
RgbImage to_picture(const uint8_t* planes, int64_t channels, int64_t height, int64_t width) {
  RgbImage picture{width, height, std::vector<uint8_t>(static_cast<size_t>(3 * height * width))};
  for (int64_t p = 0; p < height * width; ++p) {
    for (int64_t c = 0; c < 3; ++c)
      picture.pixels[3 * p + c] = planes[std::min(c, channels - 1) * height * width + p];
  }
  return picture;
}

/// Where everything goes, in pixels.
struct Layout {
  int cell;
  int label_width;
  int block_width;
  int64_t blocks;
  int64_t rows_per_block;
  /// Where the rows begin.
  int top;

  int x(int64_t row, int64_t column) const {
    return kMargin + static_cast<int>(row / rows_per_block) * block_width + label_width +
           static_cast<int>(column) * (cell + kGap);
  }
  int y(int64_t row) const { return top + static_cast<int>(row % rows_per_block) * (cell + kGap); }
  int width() const { return kMargin + static_cast<int>(blocks) * block_width; }
  int height() const { return top + static_cast<int>(rows_per_block) * (cell + kGap) + kMargin; }
};

Layout lay_out(const ImageGrid& grid) {
  const auto rows = static_cast<int64_t>(grid.rows.size());
  double label_width = 0;
  size_t columns = 0;
  for (const auto& row : grid.rows) {
    label_width = std::max(label_width, Canvas::text_width(row.label));
    columns = std::max(columns, row.images.size());
  }
  Layout layout{};
  layout.top = kMargin + (grid.column_titles.empty() ? 1 : 2) * kHeading;
  layout.cell = static_cast<int>(grid.rows.front().images.front().width) * kScale;
  layout.label_width = static_cast<int>(label_width) + 10;
  layout.blocks = (rows + kRowsPerBlock - 1) / kRowsPerBlock;
  layout.rows_per_block = (rows + layout.blocks - 1) / layout.blocks;
  layout.block_width = layout.label_width + static_cast<int>(columns) * (layout.cell + kGap) + kMargin;
  return layout;
}

void draw_row(Canvas& canvas, const Layout& layout, const ImageGrid& grid, int64_t r) {
  const auto& row = grid.rows[r];
  const double middle = layout.y(r) + layout.cell / 2.0 + Canvas::kFontSize / 3;
  canvas.text(layout.x(r, 0) - 10, middle, row.label, {.alignment = 1});
  for (size_t column = 0; column < row.images.size(); ++column)
    canvas.image(layout.x(r, static_cast<int64_t>(column)), layout.y(r), row.images[column], kScale);
}

}  // namespace

ImageGrid sample_grid(const ImageSet& set, const std::vector<std::string>& class_names,
                      const SampleGridOptions& options) {
  const int64_t channels = set.images.size(1);
  const int64_t height = set.images.size(2);
  const int64_t width = set.images.size(3);
  const auto* bytes = set.images.data_ptr<uint8_t>();
  const auto* labels = set.labels.data_ptr<int64_t>();
  ImageGrid grid;
  for (const auto& name : class_names) grid.rows.push_back({name, {}});
  const auto samples_a_row = static_cast<size_t>(options.is_augmented ? 1 : options.columns);
  for (int64_t i = 0; i < set.size(); ++i) {
    auto& images = grid.rows[labels[i]].images;
    if (images.size() >= samples_a_row) continue;
    const uint8_t* sample = bytes + i * channels * height * width;
    images.push_back(to_picture(sample, channels, height, width));
    std::vector<uint8_t> augmented(static_cast<size_t>(channels * height * width));
    for (int64_t epoch = 0; options.is_augmented && epoch + 1 < options.columns; ++epoch) {
      augment_planes(sample, draw_augmentation(options.seed, static_cast<uint64_t>(epoch), i), channels,
                     height, width, augmented.data());
      images.push_back(to_picture(augmented.data(), channels, height, width));
    }
  }
  std::erase_if(grid.rows, [](const auto& row) { return row.images.empty(); });
  if (options.is_augmented) {
    grid.column_titles.push_back("original");
    for (int64_t epoch = 0; epoch + 1 < options.columns; ++epoch)
      grid.column_titles.push_back(fmt::format("epoch {}", epoch));
  }
  return grid;
}

std::string draw_grid(const ImageGrid& grid) {
  BATCHPLUS_CHECK(!grid.rows.empty() && !grid.rows.front().images.empty(), "there is something to draw");
  const Layout layout = lay_out(grid);
  const int title_width = 2 * kMargin + static_cast<int>(1.2 * Canvas::text_width(grid.title));  // it is bold
  Canvas canvas(std::max(layout.width(), title_width), layout.height());
  canvas.text(kMargin, kMargin + Canvas::kFontSize, grid.title, {.is_bold = true});
  for (int64_t block = 0; block < layout.blocks; ++block) {
    for (size_t column = 0; column < grid.column_titles.size(); ++column) {
      canvas.text(layout.x(block * layout.rows_per_block, static_cast<int64_t>(column)), layout.top - 8,
                  grid.column_titles[column], {});
    }
  }
  for (size_t r = 0; r < grid.rows.size(); ++r) draw_row(canvas, layout, grid, static_cast<int64_t>(r));
  return sign_png(canvas.png());
}

bool is_drawn_grid(std::string_view png) {
  return has_signature(png);
}

}  // namespace batchplus
