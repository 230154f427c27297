#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "formats/png_image.h"

struct _cairo;
struct _cairo_surface;

namespace batchplus {

struct Color {
  double red = 0;
  double green = 0;
  double blue = 0;
};

/// A white picture to draw on, in pixels from the upper left corner.
class Canvas {
 public:
  static constexpr double kFontSize = 14;
  static constexpr Color kInk{0.13, 0.13, 0.13};
  static constexpr Color kPaper{1, 1, 1};

  struct TextStyle {
    /// Where x is: 0 at the text's left end, 0.5 in its middle, 1 at its right end.
    double alignment = 0;
    bool is_bold = false;
    bool is_vertical = false;
    double size = kFontSize;
    Color color = kInk;
  };

  Canvas(int64_t width, int64_t height);

  void text(double x, double baseline, const std::string& text, const TextStyle& style);
  void rectangle(double x, double y, double width, double height, const Color& color);
  /// Enlarged by whole pixels.
  void image(double x, double y, const RgbImage& image, int scale);
  std::string png() const;

  /// How wide a text will be.
  static double text_width(const std::string& text);

 private:
  std::unique_ptr<_cairo_surface, void (*)(_cairo_surface*)> surface_;
  std::unique_ptr<_cairo, void (*)(_cairo*)> context_;
};

}  // namespace batchplus
