#include "kernels/product.h"

#include <fmt/format.h>
#include <libxsmm.h>

#include "kernels/scratch.h"
#include "util/error.h"

namespace batchplus::kernels {

// LIBXSMM's matrices are column-major, so it is given the transposed product: C^T = B^T A^T.
Product::Product(const ProductShape& shape) {
  const auto narrow = [](int64_t n) { return static_cast<libxsmm_blasint>(n); };
  const libxsmm_blasint lda = narrow(shape.b_stride);
  const libxsmm_blasint ldb = narrow(shape.a_stride);
  const libxsmm_blasint ldc = narrow(shape.c_stride);
  const float alpha = 1;
  const float beta = shape.is_accumulating ? 1 : 0;
  const int flags = shape.is_a_transposed ? LIBXSMM_GEMM_FLAG_TRANS_B : LIBXSMM_GEMM_FLAG_NONE;
  const int prefetch = LIBXSMM_GEMM_PREFETCH_NONE;
  code_ = libxsmm_smmdispatch(narrow(shape.columns), narrow(shape.rows), narrow(shape.depth), &lda, &ldb,
                              &ldc, &alpha, &beta, &flags, &prefetch);
  BATCHPLUS_CHECK(code_ != nullptr, "LIBXSMM makes code for every shape");
}

namespace {

/// So much of the depth is multiplied at a time: a panel's part stays in the first cache, and the sums are
/// cut into shorter ones that are added up, which rounds less than one long sum.
constexpr int64_t kDepthBlock = 64;

thread_local Scratch block_scratch;

/// c += block, both [rows, width].
void add_block(const float* block, int64_t rows, int64_t width, float* c, int64_t c_stride) {
  for (int64_t row = 0; row < rows; ++row, block += width, c += c_stride) {
    for (int64_t i = 0; i < width; ++i) c[i] += block[i];
  }
}

}  // namespace

PanelProduct::PanelProduct(const PanelLayout& layout, int64_t rows, int64_t a_stride, int64_t c_stride)
    : layout_(layout), rows_(rows), c_stride_(c_stride) {
  const int64_t tail = layout.columns % PanelLayout::kWidth;
  if (layout.columns >= PanelLayout::kWidth) full_ = blocks_of(PanelLayout::kWidth, a_stride);
  if (tail > 0) tail_ = blocks_of(tail, a_stride);
}

PanelProduct::Blocks PanelProduct::blocks_of(int64_t width, int64_t a_stride) const {
  ProductShape shape{.rows = rows_,
                     .columns = width,
                     .depth = std::min(kDepthBlock, layout_.depth),
                     .a_stride = a_stride,
                     .b_stride = width,
                     .c_stride = c_stride_};
  Blocks blocks;
  blocks.first.emplace(shape);
  if (layout_.depth <= kDepthBlock) return blocks;
  shape.c_stride = width;
  blocks.next.emplace(shape);
  shape.depth = layout_.depth - (layout_.depth - 1) / kDepthBlock * kDepthBlock;
  blocks.last.emplace(shape);
  return blocks;
}

void PanelProduct::operator()(const float* a, const float* panels, float* c) const {
  for (int64_t column = 0; column < layout_.columns; column += PanelLayout::kWidth) {
    const int64_t width = layout_.width(column);
    const Blocks& blocks = width == PanelLayout::kWidth ? full_ : tail_;
    const float* panel = panels + column * layout_.depth;
    (*blocks.first)(a, panel, c + column);
    for (int64_t d = kDepthBlock; d < layout_.depth; d += kDepthBlock) {
      const Product& product = d + kDepthBlock < layout_.depth ? *blocks.next : *blocks.last;
      float* block = block_scratch.floats(rows_ * width);
      product(a + d, panel + d * width, block);
      add_block(block, rows_, width, c + column, c_stride_);
    }
  }
}

}  // namespace batchplus::kernels
