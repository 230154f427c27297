#pragma once

#include "kernels/product.h"

namespace batchplus::kernels {

/// What Product promises, by code of this project: any shape, any number of columns.
void plain_product(const ProductShape& shape, const float* a, const float* b, float* c);

}  // namespace batchplus::kernels
