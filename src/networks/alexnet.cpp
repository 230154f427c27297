#include "networks/alexnet.h"

#include "layers/pooling.h"

namespace batchplus {

AlexNet::AlexNet(const Options& options) {
  const int64_t w = options.width;
  auto features = register_module("features", std::make_shared<torch::nn::Module>());
  conv1_ = features->register_module(
      "0", make_convolution({.in = options.channels, .out = w, .kernel = 11, .stride = 4, .padding = 5}));
  conv2_ =
      features->register_module("3", make_convolution({.in = w, .out = 3 * w, .kernel = 5, .padding = 2}));
  conv3_ = features->register_module("6", make_convolution({.in = 3 * w, .out = 6 * w, .padding = 1}));
  conv4_ = features->register_module("8", make_convolution({.in = 6 * w, .out = 4 * w, .padding = 1}));
  conv5_ = features->register_module("10", make_convolution({.in = 4 * w, .out = 4 * w, .padding = 1}));
  classifier_ = register_module("classifier", std::make_shared<Linear>(4 * w, options.classes));
}

torch::Tensor AlexNet::forward(const torch::Tensor& images) {
  torch::Tensor x = ops::max_pool(conv1_->relu(images), 2, conv1_->kernels());  // [N,w,8,8] to [N,w,4,4]
  x = ops::max_pool(conv2_->relu(x), 2, conv2_->kernels());                     // [N,3w,2,2]
  x = conv3_->relu(x);                                                          // [N,6w,2,2]
  x = conv4_->relu(x);                                                          // [N,4w,2,2]
  x = ops::max_pool(conv5_->relu(x), 2, conv5_->kernels());                     // [N,4w,1,1]
  return classifier_->forward(x.flatten(1));                                    // [N, classes]
}

}  // namespace batchplus
