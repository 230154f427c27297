#pragma once

#include "kernels/maps.h"

namespace batchplus::kernels {

/// A convolution with a square kernel, from [N,height,width,in] to [N,out_height,out_width,out].
struct ConvolutionShape {
  int64_t in = 0;
  int64_t out = 0;
  int64_t kernel = 0;
  int64_t stride = 1;
  int64_t padding = 0;
  int64_t height = 0;
  int64_t width = 0;
  int64_t out_height = 0;
  int64_t out_width = 0;

  int64_t weights() const { return out * kernel * kernel * in; }
  int64_t in_pixels() const { return height * width; }
  int64_t out_pixels() const { return out_height * out_width; }
};

/// Input x: [N,height,width,in] and output gradient g: [N,out_height,out_width,out], dense floats.
struct ConvolutionBatch {
  int64_t samples = 0;
  const float* x = nullptr;
  const float* g = nullptr;
};

/// Forms the weight gradient of each sample a few elements at a time in registers, where its square is taken
/// and it is added to the sum. So the norms cost no more than the sum alone.
///   sum: [out,kernel,kernel,in] is overwritten with the sum over the samples
///   squared_norms: [N]
/// The same bits for any number of threads and on every processor, as of the others below.
void form_sample_gradients(const ConvolutionShape& shape, const ConvolutionBatch& batch, float* sum,
                           double* squared_norms);

/// The same for a convolution of 3x3 with stride 1 and padding 1, by Winograd's transforms: a quarter of the
/// products, and each sample's gradient is transformed back.
void winograd_sample_gradients(const ConstMaps& x, const ConstMaps& g, const Filters& sum,
                               double* squared_norms);

/// The norms without the gradients: with patches X_t and output gradients G_t of the output pixels t,
///   ||sum_t G_t X_t^T||^2 = sum_{t,s} <G_t, G_s> <X_t, X_s>,
/// where <X_t, X_s> is a sum of products of input pixels that neighbouring t share. Cheap where there are few
/// pixels. squared_norms: [N].
void gram_squared_norms(const ConvolutionShape& shape, const ConvolutionBatch& batch, double* squared_norms);

}  // namespace batchplus::kernels
