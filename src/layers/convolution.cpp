#include "layers/convolution.h"

#include <ATen/ops/conv2d.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include "core/flat_parameters.h"
#include "kernels/convolution.h"
#include "kernels/tensors.h"
#include "layers/function.h"
#include "layers/initialization.h"
#include "layers/pooling.h"

namespace batchplus {
namespace {

using namespace function;
using kernels::data_of;
using kernels::filters_of;
using kernels::kChannelsLast;
using kernels::maps_of;

class ConvolutionFunction : public Function<ConvolutionFunction> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& weight,
                        const MaybeTensor& bias, int64_t stride, int64_t padding, int64_t algorithm) {
    const kernels::ConvolutionGeometry geometry{weight.size(2), stride, padding};
    const Tensor input = x.contiguous(kChannelsLast);
    const auto extent = [&](int64_t size) { return (size + 2 * padding - geometry.kernel) / stride + 1; };
    const Tensor y = kernels::make_maps(x, weight.size(0), extent(x.size(2)), extent(x.size(3)));
    kernels::convolution_forward(static_cast<kernels::ConvolutionAlgorithm>(algorithm), geometry,
                                 {.maps = maps_of(input)}, filters_of(weight),
                                 data_of(bias.value_or(Tensor())), maps_of(y));
    context->save_for_backward({input, weight});
    context->saved_data["geometry"] = std::vector<int64_t>{stride, padding, algorithm, bias.has_value()};
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    refuse_second_derivative();
    const variable_list saved = context->get_saved_variables();
    const Tensor& x = saved[0];
    const Tensor& weight = saved[1];
    const std::vector<int64_t> geometry = context->saved_data["geometry"].toIntVector();
    const Tensor g = gradients[0].contiguous(kChannelsLast);
    Tensor dx;
    Tensor db;
    Tensor dw;
    kernels::ConvolutionGradients wanted;
    if (context->needs_input_grad(1)) {
      dw = GradientTarget::tensor_for(weight);
      wanted.filters = filters_of(dw);
    }
    if (context->needs_input_grad(0)) {
      dx = kernels::make_maps(x, x.size(1), x.size(2), x.size(3));
      wanted.input = maps_of(dx);
    }
    if (geometry[3] != 0 && context->needs_input_grad(2)) {
      db = at::empty({weight.size(0)}, weight.options());
      wanted.bias = data_of(db);
    }
    kernels::convolution_backward(static_cast<kernels::ConvolutionAlgorithm>(geometry[2]),
                                  {weight.size(2), geometry[0], geometry[1]}, {.maps = maps_of(x)},
                                  filters_of(weight), maps_of(g), wanted);
    return {dx, dw, db, Tensor(), Tensor(), Tensor()};
  }
};

}  // namespace

Convolution::Convolution(const Options& options) : options_(options) {
  register_uniform({options.out, options.in, options.kernel, options.kernel}, options.has_bias);
}

torch::Tensor Convolution::forward(const torch::Tensor& x) {
  if (uses_own_kernels(x)) {
    const auto algorithm =
        kernels::choose_algorithm({options_.kernel, options_.stride, options_.padding}, x.size(1), x.size(2),
                                  x.size(3), /*may_use_winograd=*/kernels() == Kernels::kFast);
    const auto convolve = [&](const Tensor& maps, const Tensor& weight, const Tensor& bias) {
      return ConvolutionFunction::apply(maps, weight, maybe(bias), options_.stride, options_.padding,
                                        static_cast<int64_t>(algorithm));
    };
    const torch::Tensor y = tangent::product(x, weight_, bias_, convolve);
    observed(x, y);
    return y;
  }
  const torch::Tensor y = at::conv2d(x, weight_, bias_, options_.stride, options_.padding);
  observed(x, y);
  return y;
}

torch::Tensor Convolution::average_pooled(const torch::Tensor& x, int64_t side) {
  const bool is_pointwise = options_.kernel == 1 && options_.stride == 1 && options_.padding == 0;
  if (is_pointwise && uses_own_kernels(x)) return forward(ops::average_pool(x, side, kernels()));
  return ops::average_pool(forward(x), side, kernels());
}

std::string Convolution::describe() const {
  const std::string stride = options_.stride == 1 ? "" : fmt::format("/{}", options_.stride);
  return fmt::format("conv {0}x{0}{1}", options_.kernel, stride);
}

int64_t Convolution::macs(const torch::Tensor& output) const {
  return output.numel() * fan_in();
}

void Convolution::initialize(const Initialization& scheme) {
  scheme.convolution.apply(weight_, bias_);
}

std::shared_ptr<Convolution> make_convolution(const Convolution::Options& options) {
  return std::make_shared<Convolution>(options);
}

}  // namespace batchplus
