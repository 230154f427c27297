#include "layers/linear.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/linear.h>

#include "core/flat_parameters.h"
#include "kernels/linear.h"
#include "kernels/tensors.h"
#include "layers/function.h"
#include "layers/initialization.h"

namespace batchplus {
namespace {

using namespace function;
using kernels::data_of;

class LinearFunction : public Function<LinearFunction> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& weight,
                        const MaybeTensor& bias, bool is_relu) {
    const Tensor input = x.contiguous();
    const Tensor y = at::empty({x.size(0), weight.size(0)}, x.options());
    kernels::linear_forward(shape_of(input, weight), data_of(input), data_of(weight),
                            data_of(bias.value_or(Tensor())), is_relu, data_of(y));
    context->save_for_backward({input, weight, is_relu ? y : Tensor()});
    context->saved_data["has_bias"] = bias.has_value();
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    refuse_second_derivative();
    const variable_list saved = context->get_saved_variables();
    const Tensor& x = saved[0];
    const Tensor& weight = saved[1];
    const Tensor g = gradients[0].contiguous();
    const Tensor dw = context->needs_input_grad(1) ? GradientTarget::tensor_for(weight) : Tensor();
    const Tensor dx = context->needs_input_grad(0) ? at::empty_like(x) : Tensor();
    const bool has_bias = context->saved_data["has_bias"].toBool();
    const Tensor db =
        has_bias && context->needs_input_grad(2) ? at::empty({weight.size(0)}, weight.options()) : Tensor();
    kernels::linear_backward(shape_of(x, weight), {.x = data_of(x),
                                                   .weight = data_of(weight),
                                                   .y_gradient = data_of(g),
                                                   .y = data_of(saved[2]),
                                                   .x_gradient = data_of(dx),
                                                   .weight_gradient = data_of(dw),
                                                   .bias_gradient = data_of(db)});
    return {dx, dw, db, Tensor()};
  }

 private:
  static kernels::LinearShape shape_of(const Tensor& x, const Tensor& weight) {
    return {x.size(0), weight.size(1), weight.size(0)};
  }
};

}  // namespace

Linear::Linear(int64_t in, int64_t out) {
  register_uniform({out, in}, /*has_bias=*/true);
}

torch::Tensor Linear::relu(const torch::Tensor& x) {
  const bool is_fusing = uses_own_kernels(x) && watcher() == nullptr && !has_tangent(x);
  return is_fusing ? LinearFunction::apply(x, weight_, maybe(bias_), /*is_relu=*/true) : Layer::relu(x);
}

torch::Tensor Linear::forward(const torch::Tensor& x) {
  const auto multiply = [](const Tensor& rows, const Tensor& weight, const Tensor& bias) {
    return LinearFunction::apply(rows, weight, maybe(bias), /*is_relu=*/false);
  };
  const torch::Tensor y =
      uses_own_kernels(x) ? tangent::product(x, weight_, bias_, multiply) : at::linear(x, weight_, bias_);
  observed(x, y);
  return y;
}

std::string Linear::describe() const {
  return "linear";
}

int64_t Linear::macs(const torch::Tensor& output) const {
  return output.numel() * fan_in();
}

void Linear::initialize(const Initialization& scheme) {
  scheme.linear.apply(weight_, bias_);
}

}  // namespace batchplus
