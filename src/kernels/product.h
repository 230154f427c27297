#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace batchplus::kernels {

/// The shape of a product of small row-major matrices, C = A B or C += A B with C: [rows, columns]. Leading
/// dimensions are the floats between the starts of two rows.
struct ProductShape {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t depth = 0;
  int64_t a_stride = 0;
  int64_t b_stride = 0;
  int64_t c_stride = 0;
  /// A lies as [depth, rows] instead of [rows, depth].
  bool is_a_transposed = false;
  bool is_accumulating = false;

  bool operator==(const ProductShape&) const = default;
};

/// A product whose every element is summed in the order of the depth by fused multiply-adds, from zero or
/// from what C holds: the same bits on every processor. The code is LIBXSMM's, made once for shape and
/// processor; where it sums in another order, as it does for few rows with AVX-512, plain_product takes its
/// place. Fastest with a multiple of 8 columns.
class Product {
 public:
  explicit Product(const ProductShape& shape);
  void operator()(const float* a, const float* b, float* c) const {
    if (code_ != nullptr) {
      code_(b, a, c);
    } else {
      multiply_plainly(a, b, c);
    }
  }
  /// Whether LIBXSMM's code computes it.
  bool is_generated() const { return code_ != nullptr; }

 private:
  using Code = void (*)(const float* a, const float* b, float* c, ...);
  void multiply_plainly(const float* a, const float* b, float* c) const;

  ProductShape shape_;
  Code code_;
};

/// A matrix [depth, columns] cut into panels of up to 64 columns, each of which lies as [depth, its columns].
/// `columns` is a multiple of 8.
struct PanelLayout {
  static constexpr int64_t kWidth = 64;

  int64_t depth = 0;
  int64_t columns = 0;

  int64_t floats() const { return depth * columns; }
  int64_t width(int64_t column) const { return std::min(kWidth, columns - column / kWidth * kWidth); }
  /// Where element (d, column) lies.
  int64_t offset(int64_t d, int64_t column) const {
    return column / kWidth * kWidth * depth + d * width(column) + column % kWidth;
  }
};

/// C: [rows, columns] = A: [rows, depth] times a matrix in panels, any size. The depth is cut into blocks
/// whose sums are added.
class PanelProduct {
 public:
  PanelProduct(const PanelLayout& layout, int64_t rows, int64_t a_stride, int64_t c_stride);
  void operator()(const float* a, const float* panels, float* c) const;

 private:
  /// Products of a block of the depth: the first goes to C itself, the others are added to it.
  struct Blocks {
    std::optional<Product> first;
    std::optional<Product> next;
    std::optional<Product> last;
  };
  Blocks blocks_of(int64_t width, int64_t a_stride) const;

  PanelLayout layout_;
  int64_t rows_;
  int64_t c_stride_;
  Blocks full_;
  Blocks tail_;
};

}  // namespace batchplus::kernels
