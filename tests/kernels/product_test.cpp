#include "kernels/product.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "kernels/plain_product.h"
#include "kernels/processor.h"
#include "support/machine.h"

namespace batchplus::kernels {
namespace {

std::vector<float> random_floats(int64_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = uniform(generator);
  return values;
}

/// What a product must give to the bit: fused multiply-adds in the order of the depth.
void chain(const ProductShape& shape, const float* a, const float* b, float* c) {
  for (int64_t i = 0; i < shape.rows; ++i) {
    for (int64_t j = 0; j < shape.columns; ++j) {
      float& sum = c[i * shape.c_stride + j];
      if (!shape.is_accumulating) sum = 0;
      for (int64_t d = 0; d < shape.depth; ++d) {
        const float factor = shape.is_a_transposed ? a[d * shape.a_stride + i] : a[i * shape.a_stride + d];
        sum = std::fma(factor, b[d * shape.b_stride + j], sum);
      }
    }
  }
}

/// Runs body(shape) for shapes of all sorts, those included for which LIBXSMM keeps several sums with
/// AVX-512.
template <class Body>
void for_shapes(const Body& body) {
  for (const bool is_a_transposed : {false, true}) {
    for (const bool is_accumulating : {false, true}) {
      for (const int64_t rows : {1, 3, 4, 8, 10, 13, 64}) {
        for (const int64_t columns : {8, 16, 24, 48, 64}) {
          for (const int64_t depth : {1, 7, 16, 27, 64, 100}) {
            body(ProductShape{.rows = rows,
                              .columns = columns,
                              .depth = depth,
                              .a_stride = (is_a_transposed ? rows : depth) + 3,
                              .b_stride = columns + 8,
                              .c_stride = columns + 5,
                              .is_a_transposed = is_a_transposed,
                              .is_accumulating = is_accumulating});
          }
        }
      }
    }
  }
}

template <class Multiply>
void expect_chains(const Multiply& multiply) {
  for_shapes([&](const ProductShape& shape) {
    const auto a = random_floats((shape.rows + shape.depth) * shape.a_stride, 1);
    const auto b = random_floats(shape.depth * shape.b_stride, 2);
    auto expected = random_floats(shape.rows * shape.c_stride, 3);
    auto c = expected;
    chain(shape, a.data(), b.data(), expected.data());
    multiply(shape, a.data(), b.data(), c.data());
    ASSERT_EQ(c, expected) << shape.rows << " x " << shape.columns << ", depth " << shape.depth
                           << ", transposed " << shape.is_a_transposed << ", accumulating "
                           << shape.is_accumulating;
  });
}

TEST(Product, SumsInTheOrderOfTheDepthWhateverTheShape) {
  if (!testing::machine_has("avx2", are_available())) return;
  expect_chains([](const ProductShape& shape, const float* a, const float* b, float* c) {
    Product product(shape);
    product(a, b, c);
  });
}

TEST(Product, IsMostlyGeneratedCode) {
  if (!testing::machine_has("avx2", are_available())) return;
  int shapes = 0;
  int generated = 0;
  for_shapes([&](const ProductShape& shape) {
    ++shapes;
    generated += Product(shape).is_generated() ? 1 : 0;
  });
  EXPECT_GT(generated, shapes / 2);
}

TEST(PlainProduct, SumsInTheOrderOfTheDepth) {
  if (!testing::machine_has("avx2", are_available())) return;
  expect_chains(plain_product);
  // Columns that fill no vector.
  const ProductShape odd{.rows = 5, .columns = 13, .depth = 9, .a_stride = 9, .b_stride = 13, .c_stride = 13};
  const auto a = random_floats(45, 1);
  const auto b = random_floats(117, 2);
  std::vector<float> expected(65);
  std::vector<float> c(65, NAN);
  chain(odd, a.data(), b.data(), expected.data());
  plain_product(odd, a.data(), b.data(), c.data());
  EXPECT_EQ(c, expected);
}

}  // namespace
}  // namespace batchplus::kernels
