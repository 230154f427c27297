#include "networks/small_cnn.h"

#include "layers/ops.h"

namespace batchplus {
namespace {

std::shared_ptr<Convolution> strided_conv3x3(int64_t in, int64_t out, NormalizationKind normalization) {
  return make_convolution(
      {.in = in, .out = out, .stride = 2, .padding = 1, .has_bias = has_convolution_bias(normalization)});
}

/// The side of the last map: halved three times, rounded up.
int64_t last_side(int64_t side) {
  return (side + 7) / 8;
}

}  // namespace

SmallCnn::SmallCnn(const Options& options)
    : conv1_(
          register_module("conv1", strided_conv3x3(options.channels, options.width, options.normalization))),
      bn1_(register_module("bn1", make_normalization(options.normalization, options.width))),
      conv2_(
          register_module("conv2", strided_conv3x3(options.width, 2 * options.width, options.normalization))),
      bn2_(register_module("bn2", make_normalization(options.normalization, 2 * options.width))),
      conv3_(register_module("conv3",
                             strided_conv3x3(2 * options.width, 4 * options.width, options.normalization))),
      bn3_(register_module("bn3", make_normalization(options.normalization, 4 * options.width))),
      dropout_(options.dropout),
      fc1_(register_module(
          "fc1", std::make_shared<Linear>(
                     4 * options.width * last_side(options.side) * last_side(options.side), options.hidden))),
      fc2_(register_module("fc2", std::make_shared<Linear>(options.hidden, options.classes))) {}

torch::Tensor SmallCnn::forward(const torch::Tensor& images) {
  torch::Tensor x = bn1_->relu(conv1_->forward(images));  // [N,w,16,16]
  x = bn2_->relu(conv2_->forward(x));                     // [N,2w,8,8]
  x = bn3_->relu(conv3_->forward(x));                     // [N,4w,4,4]
  x = ops::dropout(x.flatten(1), dropout_, is_training());
  return fc2_->forward(fc1_->relu(x));  // [N, classes]
}

}  // namespace batchplus
