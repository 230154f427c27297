#include "data/image_grid.h"

#include <cairo/cairo.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "data/augmentation.h"
#include "util/error.h"

namespace batchplus {
namespace {

constexpr int kScale = 2;
constexpr int kGap = 3;
constexpr int kMargin = 16;
constexpr int kHeading = 24;
constexpr int64_t kRowsPerBlock = 25;
constexpr double kFontSize = 14;

using Surface = std::unique_ptr<cairo_surface_t, void (*)(cairo_surface_t*)>;
using Context = std::unique_ptr<cairo_t, void (*)(cairo_t*)>;

/// [C,H,W] bytes as a picture; one channel is grey.
RgbImage to_picture(const uint8_t* planes, int64_t channels, int64_t height, int64_t width) {
  RgbImage picture{width, height, std::vector<uint8_t>(static_cast<size_t>(3 * height * width))};
  for (int64_t p = 0; p < height * width; ++p) {
    for (int64_t c = 0; c < 3; ++c)
      picture.pixels[3 * p + c] = planes[std::min(c, channels - 1) * height * width + p];
  }
  return picture;
}

/// cairo wants each pixel in a word.
Surface to_surface(const RgbImage& image) {
  Surface surface(cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(image.width),
                                             static_cast<int>(image.height)),
                  cairo_surface_destroy);
  cairo_surface_flush(surface.get());
  auto* words = cairo_image_surface_get_data(surface.get());
  const int stride = cairo_image_surface_get_stride(surface.get());
  for (int64_t y = 0; y < image.height; ++y) {
    auto* row = reinterpret_cast<uint32_t*>(words + y * stride);
    for (int64_t x = 0; x < image.width; ++x) {
      const uint8_t* pixel = image.pixels.data() + 3 * (y * image.width + x);
      row[x] = uint32_t{pixel[0]} << 16 | uint32_t{pixel[1]} << 8 | pixel[2];
    }
  }
  cairo_surface_mark_dirty(surface.get());
  return surface;
}

RgbImage from_surface(cairo_surface_t* surface) {
  cairo_surface_flush(surface);
  RgbImage image{cairo_image_surface_get_width(surface), cairo_image_surface_get_height(surface), {}};
  const auto* words = cairo_image_surface_get_data(surface);
  const int stride = cairo_image_surface_get_stride(surface);
  for (int64_t y = 0; y < image.height; ++y) {
    const auto* row = reinterpret_cast<const uint32_t*>(words + y * stride);
    for (int64_t x = 0; x < image.width; ++x) {
      for (const int shift : {16, 8, 0}) image.pixels.push_back(static_cast<uint8_t>(row[x] >> shift));
    }
  }
  return image;
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

void use_font(cairo_t* context, bool is_bold) {
  cairo_select_font_face(context, "sans", CAIRO_FONT_SLANT_NORMAL,
                         is_bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size(context, kFontSize);
}

double text_width(cairo_t* context, const std::string& text) {
  cairo_text_extents_t extents;
  cairo_text_extents(context, text.c_str(), &extents);
  return extents.x_advance;
}

void draw_text(cairo_t* context, double x, double baseline, const std::string& text) {
  cairo_move_to(context, x, baseline);
  cairo_show_text(context, text.c_str());
}

Layout lay_out(const ImageGrid& grid, cairo_t* context) {
  const auto rows = static_cast<int64_t>(grid.rows.size());
  double label_width = 0;
  size_t columns = 0;
  for (const auto& row : grid.rows) {
    label_width = std::max(label_width, text_width(context, row.label));
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

void draw_row(cairo_t* context, const Layout& layout, const ImageGrid& grid, int64_t r) {
  const auto& row = grid.rows[r];
  const double middle = layout.y(r) + layout.cell / 2.0 + kFontSize / 3;
  draw_text(context, layout.x(r, 0) - 10 - text_width(context, row.label), middle, row.label);
  for (size_t column = 0; column < row.images.size(); ++column) {
    const Surface image = to_surface(row.images[column]);
    cairo_save(context);
    cairo_translate(context, layout.x(r, static_cast<int64_t>(column)), layout.y(r));
    cairo_scale(context, kScale, kScale);
    cairo_set_source_surface(context, image.get(), 0, 0);
    cairo_pattern_set_filter(cairo_get_source(context), CAIRO_FILTER_NEAREST);
    cairo_paint(context);
    cairo_restore(context);
  }
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
  const Surface probe(cairo_image_surface_create(CAIRO_FORMAT_RGB24, 1, 1), cairo_surface_destroy);
  const Context measuring(cairo_create(probe.get()), cairo_destroy);
  use_font(measuring.get(), false);
  const Layout layout = lay_out(grid, measuring.get());
  const int width =
      std::max(layout.width(), 2 * kMargin + static_cast<int>(text_width(measuring.get(), grid.title)) + 40);

  const Surface surface(cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, layout.height()),
                        cairo_surface_destroy);
  const Context context(cairo_create(surface.get()), cairo_destroy);
  cairo_set_source_rgb(context.get(), 1, 1, 1);
  cairo_paint(context.get());
  cairo_set_source_rgb(context.get(), 0.13, 0.13, 0.13);
  use_font(context.get(), true);
  draw_text(context.get(), kMargin, kMargin + kFontSize, grid.title);
  use_font(context.get(), false);
  for (int64_t block = 0; block < layout.blocks; ++block) {
    for (size_t column = 0; column < grid.column_titles.size(); ++column) {
      draw_text(context.get(), layout.x(block * layout.rows_per_block, static_cast<int64_t>(column)),
                layout.top - 8, grid.column_titles[column]);
    }
  }
  for (size_t r = 0; r < grid.rows.size(); ++r)
    draw_row(context.get(), layout, grid, static_cast<int64_t>(r));
  BATCHPLUS_CHECK(cairo_status(context.get()) == CAIRO_STATUS_SUCCESS, "cairo drew everything");
  return encode_png(from_surface(surface.get()));
}

}  // namespace batchplus
