#include "formats/canvas.h"

#include <cairo/cairo.h>

#include <numbers>

#include "util/error.h"

namespace batchplus {
namespace {

using Surface = std::unique_ptr<cairo_surface_t, void (*)(cairo_surface_t*)>;

Surface make_surface(int64_t width, int64_t height) {
  return {cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(width), static_cast<int>(height)),
          cairo_surface_destroy};
}

/// The words of a row; cairo keeps each pixel in one.
uint32_t* row_of(cairo_surface_t* surface, int64_t y) {
  return reinterpret_cast<uint32_t*>(cairo_image_surface_get_data(surface) +
                                     y * cairo_image_surface_get_stride(surface));
}

void use_font(cairo_t* context, double size, bool is_bold) {
  cairo_select_font_face(context, "sans", CAIRO_FONT_SLANT_NORMAL,
                         is_bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size(context, size);
}

double advance(cairo_t* context, const std::string& text) {
  cairo_text_extents_t extents;
  cairo_text_extents(context, text.c_str(), &extents);
  return extents.x_advance;
}

void set_color(cairo_t* context, const Color& color) {
  cairo_set_source_rgb(context, color.red, color.green, color.blue);
}

}  // namespace

Canvas::Canvas(int64_t width, int64_t height)
    : surface_(make_surface(width, height)), context_(cairo_create(surface_.get()), cairo_destroy) {
  set_color(context_.get(), kPaper);
  cairo_paint(context_.get());
}

void Canvas::text(double x, double baseline, const std::string& text, const TextStyle& style) {
  cairo_t* context = context_.get();
  cairo_save(context);
  use_font(context, style.size, style.is_bold);
  set_color(context, style.color);
  cairo_translate(context, x, baseline);
  if (style.is_vertical) cairo_rotate(context, -std::numbers::pi / 2);
  cairo_move_to(context, -style.alignment * advance(context, text), 0);
  cairo_show_text(context, text.c_str());
  cairo_restore(context);
}

void Canvas::rectangle(double x, double y, double width, double height, const Color& color) {
  set_color(context_.get(), color);
  cairo_rectangle(context_.get(), x, y, width, height);
  cairo_fill(context_.get());
}

void Canvas::image(double x, double y, const RgbImage& image, int scale) {
  const Surface picture = make_surface(image.width, image.height);
  cairo_surface_flush(picture.get());
  const uint8_t* pixel = image.pixels.data();
  for (int64_t row = 0; row < image.height; ++row) {
    uint32_t* words = row_of(picture.get(), row);
    for (int64_t column = 0; column < image.width; ++column, pixel += 3)
      words[column] = uint32_t{pixel[0]} << 16 | uint32_t{pixel[1]} << 8 | pixel[2];
  }
  cairo_surface_mark_dirty(picture.get());
  cairo_t* context = context_.get();
  cairo_save(context);
  cairo_translate(context, x, y);
  cairo_scale(context, scale, scale);
  cairo_set_source_surface(context, picture.get(), 0, 0);
  cairo_pattern_set_filter(cairo_get_source(context), CAIRO_FILTER_NEAREST);
  cairo_paint(context);
  cairo_restore(context);
}

std::string Canvas::png() const {
  BATCHPLUS_CHECK(cairo_status(context_.get()) == CAIRO_STATUS_SUCCESS, "cairo drew everything");
  cairo_surface_flush(surface_.get());
  RgbImage image{
      cairo_image_surface_get_width(surface_.get()), cairo_image_surface_get_height(surface_.get()), {}};
  for (int64_t y = 0; y < image.height; ++y) {
    const uint32_t* words = row_of(surface_.get(), y);
    for (int64_t x = 0; x < image.width; ++x) {
      for (const int shift : {16, 8, 0}) image.pixels.push_back(static_cast<uint8_t>(words[x] >> shift));
    }
  }
  return encode_png(image);
}

double Canvas::text_width(const std::string& text) {
  const Canvas probe(1, 1);
  use_font(probe.context_.get(), kFontSize, false);
  return advance(probe.context_.get(), text);
}

}  // namespace batchplus
