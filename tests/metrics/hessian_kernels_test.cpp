// Hessian products and gradients of the objective by own kernels, in single precision, against the same
// network in double by libtorch.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "kernels/processor.h"
#include "kernels/trace.h"
#include "support/machine.h"
#include "support/precision_pair.h"
#include "support/small_networks.h"
#include "support/threads.h"
#include "util/hash.h"

namespace batchplus {
namespace {

using testing::network_problem;
using testing::PrecisionPair;
using testing::Problem;
using testing::relative_error;

constexpr int64_t kSamples = 10;

torch::Tensor direction(const Problem& problem, uint64_t seed) {
  torch::manual_seed(seed);
  return torch::randn({problem.parameters.size()});
}

/// Relative errors of some batches' products or gradients.
struct Errors {
  std::vector<double> values;
  double median() const {
    std::vector<double> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }
  double largest() const { return *std::max_element(values.begin(), values.end()); }
};

/// The problem in single precision against that in double, batch by batch.
class Comparison {
 public:
  Comparison(const std::string& network, NormalizationKind normalization)
      : pair_(network, Kernels::kAten, normalization, kBatches * kBatch) {
    const torch::Tensor v = direction(*pair_.own, 8);
    for (int64_t i = 0; i < kBatches; ++i) {
      const ObjectiveFunction exact = batch(*pair_.exact, i, cross_entropies);
      products_.push_back(exact.hessian_product(v.to(torch::kFloat64)));
      gradients_.push_back(exact.gradient());
    }
  }

  Errors products(Kernels kernels) {
    const torch::Tensor v = direction(*pair_.own, 8);
    return errors(kernels, products_, [&](const ObjectiveFunction& own) { return own.hessian_product(v); });
  }
  Errors gradients(Kernels kernels) {
    return errors(kernels, gradients_, [](const ObjectiveFunction& own) { return own.gradient(); });
  }

 private:
  static constexpr int64_t kBatches = 5;
  static constexpr int64_t kBatch = 4;

  /// In two chunks.
  static ObjectiveFunction batch(Problem& problem, int64_t i, const SampleLoss& loss) {
    return {problem.model,
            problem.parameters,
            testing::samples_of_tensors(problem.images.slice(0, i * kBatch, (i + 1) * kBatch),
                                        problem.labels.slice(0, i * kBatch, (i + 1) * kBatch)),
            {.loss = loss, .chunk = 3}};
  }
  template <class Quantity>
  Errors errors(Kernels kernels, const std::vector<torch::Tensor>& exact, const Quantity& quantity) {
    use_kernels(*pair_.own->model.module, kernels);
    Errors found;
    for (int64_t i = 0; i < kBatches; ++i) {
      found.values.push_back(relative_error(quantity(batch(*pair_.own, i, cross_entropies_by(kernels))),
                                            exact[static_cast<size_t>(i)]));
    }
    return found;
  }

  PrecisionPair pair_;
  std::vector<torch::Tensor> products_;
  std::vector<torch::Tensor> gradients_;
};

// Rounding leaves at most 2.3e-6 (vgg19 with GroupNorm; libtorch 1.5e-6), with BatchNorm 7.2e-7 (libtorch
// 5.9e-7), measured over all cases below, which 5e-6 leaves room for. In single precision an activation next
// to zero may also fall on the other side of max(0, .), libtorch's as well as ours, which moves one sample's
// part, at most 4.3e-3 here. So the median over batches is held to rounding, and each batch to what one
// sample can do.
void expect_equal_to_double(const std::string& network, NormalizationKind normalization,
                            const std::vector<Kernels>& all_kernels) {
  Comparison comparison(network, normalization);
  const Errors libtorch = comparison.products(Kernels::kAten);
  for (const Kernels kernels : all_kernels) {
    SCOPED_TRACE(network + ", " + to_string(normalization) + ", kernels " +
                 std::to_string(static_cast<int>(kernels)));
    const Errors products = comparison.products(kernels);
    const Errors gradients = comparison.gradients(kernels);
    std::printf(
        "  %s, %s, kernels %d: product %.1e, at most %.1e (libtorch %.1e, %.1e), gradient %.1e, %.1e\n",
        network.c_str(), to_string(normalization).c_str(), static_cast<int>(kernels), products.median(),
        products.largest(), libtorch.median(), libtorch.largest(), gradients.median(), gradients.largest());
    EXPECT_LT(products.median(), 5e-6);
    EXPECT_LT(products.largest(), 2e-2);
    EXPECT_LT(gradients.median(), 5e-6);
    EXPECT_LT(gradients.largest(), 2e-2);
  }
}

TEST(HessianByOwnKernels, OfEveryNetworkIsThatOfDouble) {
  for (const NetworkInfo& info : networks()) {
    const std::string name = testing::small_name(info);
    expect_equal_to_double(name, NormalizationKind::kBatch, {Kernels::kFast, Kernels::kDirect});
    if (!info.has_normalization) continue;
    expect_equal_to_double(name, NormalizationKind::kGroup, {Kernels::kFast});
    expect_equal_to_double(name, NormalizationKind::kNone, {Kernels::kFast});
  }
}

// u^T H v = v^T H u; each is a sum of d rounded products, whose sizes are those of u and H v.
TEST(HessianByOwnKernels, OfEveryNetworkIsSymmetric) {
  for (const std::string& name : testing::small_networks()) {
    const auto problem = network_problem(name, 10, kSamples, torch::kFloat32, {.chunk = 6});
    const torch::Tensor u = direction(*problem, 1);
    const torch::Tensor v = direction(*problem, 2);
    const torch::Tensor hu = problem->objective.hessian_product(u).to(torch::kFloat64);
    const torch::Tensor hv = problem->objective.hessian_product(v).to(torch::kFloat64);
    const double difference = ((u * hv).sum() - (v * hu).sum()).abs().item<double>();
    const double scale = (u.norm() * hv.norm()).item<double>();
    EXPECT_LT(difference / scale, 1e-6) << name;
  }
}

/// The kernels that a function calls, by their descriptions up to the first space.
template <class Action>
std::set<std::string> kernels_called(const Action& action) {
  const kernels::KernelTrace trace;
  action();
  std::set<std::string> kinds;
  for (const auto& [description, totals] : trace.totals())
    kinds.insert(description.substr(0, description.find(' ')));
  return kinds;
}

TEST(HessianByOwnKernels, IsComputedByThemUnlessLibtorchIsAskedFor) {
  if (!testing::machine_has("avx2", kernels::are_available())) return;
  for (const std::string network : {"resnet20:width=4", "densenet:depth=16,growth=4", "vgg11:width=8"}) {
    SCOPED_TRACE(network);
    const auto problem = network_problem(network, 10, 2, torch::kFloat32);
    const torch::Tensor v = direction(*problem, 1);
    const auto product = [&] { problem->objective.hessian_product(v); };
    const auto gradient = [&] { problem->objective.gradient(); };
    for (const auto& called : {kernels_called(product), kernels_called(gradient)}) {
      for (const std::string kind : {"convolution", "batch", "linear"})
        EXPECT_TRUE(called.contains(kind)) << kind;
    }
    use_kernels(*problem->model.module, Kernels::kAten);
    EXPECT_TRUE(kernels_called(product).empty());
    EXPECT_TRUE(kernels_called(gradient).empty());
  }
}

TEST(HessianByOwnKernels, HasTheSameBitsWithAnyNumberOfThreads) {
  if (!testing::machine_has("avx2", kernels::are_available())) return;
  for (const std::string& name : testing::small_networks()) {
    const auto problem =
        network_problem(name, 10, 9, torch::kFloat32, {.loss = cross_entropies_by(Kernels::kFast)});
    const torch::Tensor v = direction(*problem, 3);
    const auto measured = [&](int threads) {
      const testing::WithThreads with(threads);
      return at::cat({problem->objective.hessian_product(v), problem->objective.gradient()});
    };
    const torch::Tensor one = measured(1);
    for (const int threads : {2, 3})
      EXPECT_TRUE(measured(threads).equal(one)) << name << ", threads: " << threads;
  }
}

/// SHA-256 of a product and the gradient.
std::string hash_of_product(const std::string& network) {
  const Model model = build_network(find_network(network), {.classes = 10}, /*seed=*/3);
  Problem problem(model, testing::plain_images(9).contiguous(model.memory_format),
                  torch::arange(9, torch::kInt64) % 10,
                  {.loss = cross_entropies_by(Kernels::kFast), .chunk = 6});
  const torch::Tensor index = torch::arange(problem.parameters.size(), torch::kInt64);
  const torch::Tensor v = (index * 7907 % 1013).to(torch::kFloat32) / 512 - 1;
  std::string bytes;
  for (const torch::Tensor& part : {problem.objective.hessian_product(v), problem.objective.gradient()})
    bytes.append(static_cast<const char*>(part.data_ptr()), part.nbytes());
  return sha256_hex(bytes);
}

// Also run with AVX2 where the machine has more (CMakeLists.txt).
TEST(HessianByOwnKernels, HasTheSameBitsOnEveryMachine) {
  if (!testing::machine_has("avx2", kernels::are_available())) return;
  EXPECT_EQ(hash_of_product("resnet20:width=4"),
            "f2d65f79a03c1f5aeff9d7526e9be553759ed236fda39b5c0df7dd1803ab25ec");
  EXPECT_EQ(hash_of_product("vgg11:width=8"),
            "e40b6f10ac6cffb0c5365dbfcb18d0d5078f04fba50a3d726b6c92af81cc4c96");
  EXPECT_EQ(hash_of_product("densenet:depth=16,growth=4"),
            "c563e4ce3656247f807d74f76da9b40b7a3084d5dc7841df872394ec4cdcc95b");
}

}  // namespace
}  // namespace batchplus
