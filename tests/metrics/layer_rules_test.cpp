#include "metrics/layer_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metrics/sample_gradients.h"
#include "support/problem.h"

namespace batchplus {
namespace {

/// y = weight * x, a kind that no rule knows.
class Scaling : public Layer {
 public:
  explicit Scaling(int64_t size) { weight_ = register_parameter("weight", torch::ones({size})); }
  torch::Tensor forward(const torch::Tensor& x) override {
    torch::Tensor y = x * weight_;
    observed(x, y);
    return y;
  }
  std::string describe() const override { return "scaling"; }
  int64_t macs(const torch::Tensor&) const override { return 0; }
  void initialize(const Initialization&) override {}
};

struct ScaledRegression : torch::nn::Module {
  torch::Tensor forward(const torch::Tensor& images) {
    return head->forward(scaling->forward(images.flatten(1)));
  }
  std::shared_ptr<Scaling> scaling = register_module("scaling", std::make_shared<Scaling>(6));
  std::shared_ptr<Linear> head = register_module("head", std::make_shared<Linear>(6, 3));
};

template <class Action>
void expect_named(const Action& action) {
  EXPECT_THAT(action, ::testing::ThrowsMessage<std::logic_error>(::testing::HasSubstr("'scaling'")));
}

TEST(LayerRules, NameAKindThatHasNone) {
  const Scaling scaling(2);
  expect_named([&] { rule_for(scaling); });
}

TEST(LayerRules, RefuseToMeasureANetworkWithSuchAKind) {
  testing::Problem problem(Model(std::make_shared<ScaledRegression>()), torch::randn({4, 6, 1, 1}),
                           torch::randint(0, 3, {4}));
  expect_named([&] { measure_sample_gradients(problem.objective); });
}

TEST(LayerRules, AreNotNeededForHessianProducts) {
  const auto network = std::make_shared<ScaledRegression>();
  network->to(torch::kFloat64);
  torch::manual_seed(1);
  testing::Problem problem(Model(network), torch::randn({4, 6, 1, 1}, torch::kFloat64),
                           torch::randint(0, 3, {4}));
  const torch::Tensor v = torch::randn_like(problem.parameters.values());
  EXPECT_LT(testing::relative_error(problem.objective.hessian_product(v), problem.slow_hessian_product(v)),
            1e-12);
}

TEST(LayerRules, ApplyToOneKindEach) {
  for (const std::string name : {"smallcnn", "mlp"}) {
    const Model model = build_network(find_network(name), {}, 1);
    for (const Layer* layer : layers_of(*model.module)) {
      int rules = 0;
      for (const LayerRule& rule : layer_rules()) rules += rule.applies_to(*layer) ? 1 : 0;
      EXPECT_EQ(rules, 1) << layer->describe();
    }
  }
}

}  // namespace
}  // namespace batchplus
