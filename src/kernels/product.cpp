#include "kernels/product.h"

#include <libxsmm.h>

#include <array>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "kernels/plain_product.h"
#include "kernels/processor.h"
#include "kernels/scratch.h"

namespace batchplus::kernels {
namespace {

using Code = void (*)(const float* a, const float* b, float* c, ...);

struct ShapeHash {
  size_t operator()(const ProductShape& shape) const {
    size_t hash = 0;
    for (const int64_t part : {shape.rows, shape.columns, shape.depth, shape.a_stride, shape.b_stride,
                               shape.c_stride, int64_t{shape.is_a_transposed} * 2 + shape.is_accumulating}) {
      hash = hash * 31 + static_cast<size_t>(part);
    }
    return hash ^ (hash >> 8);
  }
};

/// Numbers between -1 and 1 whose sums depend on their order.
void fill_irregularly(std::vector<float>& values, uint32_t state) {
  for (float& value : values) {
    state = state * 1664525 + 1013904223;
    value = static_cast<float>(state >> 8) / static_cast<float>(1 << 23) - 1;
  }
}

/// Whether code that LIBXSMM made gives plain_product's bits.
bool is_in_order(const ProductShape& shape, Code code) {
  const int64_t a_rows = shape.is_a_transposed ? shape.depth : shape.rows;
  std::vector<float> a(static_cast<size_t>(a_rows * shape.a_stride));
  std::vector<float> b(static_cast<size_t>(shape.depth * shape.b_stride));
  std::vector<float> plain(static_cast<size_t>(shape.rows * shape.c_stride));
  fill_irregularly(a, 1);
  fill_irregularly(b, 2);
  fill_irregularly(plain, 3);
  std::vector<float> generated = plain;
  plain_product(shape, a.data(), b.data(), plain.data());
  code(b.data(), a.data(), generated.data());
  return std::memcmp(plain.data(), generated.data(), plain.size() * sizeof(float)) == 0;
}

// LIBXSMM's matrices are column-major, so it is given the transposed product: C^T = B^T A^T.
Code generate(const ProductShape& shape) {
  const auto narrow = [](int64_t n) { return static_cast<libxsmm_blasint>(n); };
  const libxsmm_blasint lda = narrow(shape.b_stride);
  const libxsmm_blasint ldb = narrow(shape.a_stride);
  const libxsmm_blasint ldc = narrow(shape.c_stride);
  const float alpha = 1;
  const float beta = shape.is_accumulating ? 1 : 0;
  const int flags = shape.is_a_transposed ? LIBXSMM_GEMM_FLAG_TRANS_B : LIBXSMM_GEMM_FLAG_NONE;
  const int prefetch = LIBXSMM_GEMM_PREFETCH_NONE;
  const Code code = libxsmm_smmdispatch(narrow(shape.columns), narrow(shape.rows), narrow(shape.depth), &lda,
                                        &ldb, &ldc, &alpha, &beta, &flags, &prefetch);
  return code != nullptr && is_in_order(shape, code) ? code : nullptr;
}

/// The code for each shape, null for those that are multiplied plainly.
class Library {
 public:
  Library() {
    if (instruction_set() == InstructionSet::kAvx2) libxsmm_set_target_archid(LIBXSMM_X86_AVX2);
  }
  Code find(const ProductShape& shape) {
    const std::lock_guard lock(mutex_);
    const auto [place, is_new] = codes_.try_emplace(shape, nullptr);
    if (is_new) place->second = generate(shape);
    return place->second;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<ProductShape, Code, ShapeHash> codes_;
};

/// What a thread used lately, so that it need not wait for others.
Code find(const ProductShape& shape) {
  struct Known {
    ProductShape shape;
    Code code = nullptr;
  };
  static thread_local std::array<Known, 256> lately;
  static Library library;
  Known& known = lately[ShapeHash()(shape) % lately.size()];
  if (known.shape != shape) known = {shape, library.find(shape)};
  return known.code;
}

}  // namespace

Product::Product(const ProductShape& shape) : shape_(shape), code_(find(shape)) {}

void Product::multiply_plainly(const float* a, const float* b, float* c) const {
  plain_product(shape_, a, b, c);
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
