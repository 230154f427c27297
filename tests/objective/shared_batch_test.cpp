// Gradients of batches that are shared out among the ranks of a group, here among threads.

#include "objective/shared_batch.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <limits>

#include "kernels/processor.h"
#include "layers/layer.h"
#include "networks/registry.h"
#include "objective/evaluate.h"
#include "objective/gradient_oracle.h"
#include "support/expect_error.h"
#include "support/machine.h"
#include "support/ranks.h"
#include "support/small_networks.h"

namespace batchplus {
namespace {

using kernels::SampleShare;

struct Case {
  std::string network;
  NormalizationKind normalization = NormalizationKind::kBatch;
  int64_t side = 32;
};

/// What a step needs of a network, so that each rank has its own.
struct Replica {
  Replica(const Case& row, const Sharing& sharing, torch::Dtype type = torch::kFloat32)
      : model(build_network(find_network(row.network),
                            {.side = row.side, .dropout = 0, .normalization = row.normalization},
                            /*seed=*/1)) {
    model.module->to(type);
    parameters.emplace(*model.module);
    if (type == torch::kFloat32)
      oracle.emplace(model, *parameters, budget, GradientOracle::Options{.sharing = sharing});
  }
  torch::Tensor gradient(const Batch& batch) {
    const torch::Tensor result = oracle->make_vector();
    oracle->gradient(batch, result);
    return result;
  }

  Model model;
  std::optional<FlatParameters> parameters;
  GradientBudget budget;
  std::optional<GradientOracle> oracle;
};

Batch random_batch(const Case& row, int64_t samples, const Model& model) {
  torch::manual_seed(7);
  return {torch::randn({samples, 3, row.side, row.side}).contiguous(model.memory_format),
          torch::randint(0, 10, {samples})};
}

/// Replicas are built one after the other: they draw from libtorch's one generator.
std::vector<std::unique_ptr<Replica>> make_replicas(const Case& row,
                                                    const std::vector<std::unique_ptr<Group>>& groups,
                                                    Sharing sharing) {
  std::vector<std::unique_ptr<Replica>> replicas;
  for (const auto& group : groups) {
    sharing.group = group.get();
    replicas.push_back(std::make_unique<Replica>(row, sharing));
  }
  return replicas;
}

/// body(rank) on a thread for each of them.
void on_threads(size_t ranks, const std::function<void(size_t)>& body) {
  std::vector<std::jthread> threads;
  for (size_t rank = 0; rank < ranks; ++rank) threads.emplace_back([&body, rank] { body(rank); });
}

struct Shared {
  /// Of each rank.
  std::vector<torch::Tensor> gradients;
  std::vector<std::vector<torch::Tensor>> buffers;
  std::vector<double> losses;
};

Shared share_out(const Case& row, const Batch& batch, int ranks, const Sharing& sharing) {
  const auto groups = make_thread_groups(ranks);
  const auto replicas = make_replicas(row, groups, sharing);
  Shared shared{std::vector<torch::Tensor>(replicas.size()),
                std::vector<std::vector<torch::Tensor>>(replicas.size()),
                std::vector<double>(replicas.size())};
  on_threads(replicas.size(), [&](size_t rank) {
    shared.gradients[rank] = replicas[rank]->gradient(batch);
    shared.buffers[rank] = replicas[rank]->model.module->buffers();
    shared.losses[rank] = replicas[rank]->oracle->take_mean_loss();
  });
  return shared;
}

Shared share_out(const Case& row, const Batch& batch, int ranks, SampleShare::Sums sums,
                 SampleShare::Moments moments = SampleShare::Moments::kOfBatch) {
  return share_out(row, batch, ranks, {.sums = sums, .moments = moments});
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const std::string& name : testing::small_networks()) cases.push_back({name});
  cases.push_back({"resnet20:width=4", NormalizationKind::kGroup});
  // With filters so large that they are summed sample by sample, by Winograd's convolution and without.
  cases.push_back({"resnet20:width=32", NormalizationKind::kBatch, 8});
  return cases;
}

TEST(SharedBatch, HasTheBitsOfOneProcess) {
  if (!testing::machine_has("avx2", kernels::are_available())) return;
  for (const Case& row : all_cases()) {
    // 19 and 27 are cut into parts of uneven sizes.
    for (const int64_t samples : {8, 19, 27}) {
      Replica alone(row, {});
      const Batch batch = random_batch(row, samples, alone.model);
      const torch::Tensor expected = alone.gradient(batch);
      const double loss = alone.oracle->take_mean_loss();
      for (const int ranks : {2, 4}) {
        const Shared shared = share_out(row, batch, ranks, SampleShare::Sums::kExact);
        for (size_t rank = 0; rank < shared.gradients.size(); ++rank) {
          EXPECT_TRUE(shared.gradients[rank].equal(expected))
              << row.network << ", " << samples << " samples, rank " << rank << " of " << ranks;
          EXPECT_EQ(shared.losses[rank], loss);
          const auto buffers = alone.model.module->buffers();
          for (size_t i = 0; i < buffers.size(); ++i)
            EXPECT_TRUE(shared.buffers[rank][i].equal(buffers[i])) << row.network;
        }
      }
    }
  }
}

/// By libtorch, in double precision.
torch::Tensor precise_gradient(const Case& row, const Batch& batch) {
  Replica precise(row, {}, torch::kFloat64);
  precise.model.module->train();
  const torch::Tensor loss =
      at::cross_entropy_loss(precise.model.forward(batch.images.to(torch::kFloat64)), batch.labels);
  const torch::Tensor flat = torch::zeros_like(precise.parameters->values());
  precise.parameters->gather(torch::autograd::grad({loss}, precise.parameters->tensors()), flat);
  return flat;
}

double distance(const torch::Tensor& a, const torch::Tensor& b) {
  return (a.to(torch::kFloat64) - b).norm().item<double>();
}

TEST(SharedBatch, FastIsAsNearToDoublePrecisionAsOneProcess) {
  if (!testing::machine_has("avx2", kernels::are_available())) return;
  for (const Case& row : all_cases()) {
    Replica alone(row, {});
    const Batch batch = random_batch(row, 13, alone.model);
    const torch::Tensor precise = precise_gradient(row, batch);
    const double own_error = distance(alone.gradient(batch), precise);
    for (const int ranks : {2, 3, 4}) {
      const Shared shared = share_out(row, batch, ranks, SampleShare::Sums::kLater);
      for (const torch::Tensor& gradient : shared.gradients) {
        EXPECT_TRUE(gradient.equal(shared.gradients[0])) << row.network;
        // Other orders of the same sums. A value next to zero may fall on the other side of max(0, .), which
        // is why an error is not a few roundings in all networks; a rank that is left out or counted twice
        // changes a gradient by its own size.
        EXPECT_LT(distance(gradient, precise), 4 * own_error + 1e-4 * precise.norm().item<double>())
            << row.network << " by " << ranks;
      }
    }
  }
}

TEST(SharedBatch, GradientsThatAreAddedUpDuringTheBackwardPassHaveTheSameBits) {
  if (!testing::machine_has("avx2", kernels::are_available())) return;
  constexpr int64_t kAfterIt = std::numeric_limits<int64_t>::max();
  for (const Case& row : all_cases()) {
    const Batch batch = random_batch(row, 13, Replica(row, {}).model);
    for (const int ranks : {2, 3, 4}) {
      const auto shared = [&](int64_t early_elements) {
        return share_out(row, batch, ranks,
                         {.sums = SampleShare::Sums::kLater, .early_elements = early_elements});
      };
      const Shared expected = shared(kAfterIt);
      // All gradients of their own, and only some.
      for (const int64_t early_elements : {1, 300}) {
        const Shared early = shared(early_elements);
        for (size_t rank = 0; rank < early.gradients.size(); ++rank) {
          EXPECT_TRUE(early.gradients[rank].equal(expected.gradients[rank]))
              << row.network << ", " << early_elements << ", rank " << rank << " of " << ranks;
        }
      }
    }
  }
}

// An outer batch has several gradients, and computes some of them again.
TEST(SharedBatch, ReplayedGradientsAreAddedUpDuringTheBackwardPassToo) {
  if (!testing::machine_has("avx2", kernels::are_available())) return;
  const Case row{"resnet20:width=4"};
  const Batch batch = random_batch(row, 12, Replica(row, {}).model);
  const auto groups = make_thread_groups(3);
  const auto replicas = make_replicas(row, groups, {.sums = SampleShare::Sums::kLater, .early_elements = 1});
  on_threads(replicas.size(), [&](size_t rank) {
    Replica& replica = *replicas[rank];
    const torch::Tensor first = replica.gradient(batch);
    const torch::Tensor point = replica.parameters->values().clone();
    const torch::Tensor again = replica.oracle->make_vector();
    replica.oracle->replay_gradient_at(point, batch, again);
    EXPECT_TRUE(again.equal(first));
    EXPECT_TRUE(replica.gradient(batch).equal(first));
  });
}

Batch share_of(const Batch& batch, int rank, int ranks) {
  const int64_t begin = batch.size() * rank / ranks;
  const int64_t end = batch.size() * (rank + 1) / ranks;
  return {batch.images.slice(0, begin, end), batch.labels.slice(0, begin, end)};
}

// Libtorch says in double precision what each share's gradient is, as if it were a batch of its own.
// PyTorch's DDP takes their mean, which is that of the samples where the shares are equal.
TEST(SharedBatch, WithMomentsOfTheirOwnSharesAreBatches) {
  if (!testing::machine_has("avx2", kernels::are_available())) return;
  for (const char* network : {"resnet20:width=4", "vgg11:width=8", "densenet:depth=16,growth=4"}) {
    const Case row{network};
    for (const int64_t samples : {12, 13}) {
      Replica alone(row, {});
      const Batch batch = random_batch(row, samples, alone.model);
      for (const int ranks : {2, 3}) {
        torch::Tensor precise = torch::zeros_like(alone.parameters->values(), torch::kFloat64);
        double loss = 0;
        double own_error = 0;
        std::vector<torch::Tensor> running;
        for (int rank = 0; rank < ranks; ++rank) {
          const Batch share = share_of(batch, rank, ranks);
          const double weight = static_cast<double>(share.size()) / static_cast<double>(samples);
          Replica of_share(row, {});
          const torch::Tensor exact = precise_gradient(row, share);
          own_error += weight * distance(of_share.gradient(share), exact);
          precise += weight * exact;
          loss += weight * of_share.oracle->take_mean_loss();
          if (rank == 0) running = of_share.model.module->buffers();
        }
        const double bound = 4 * own_error + 1e-4 * precise.norm().item<double>();
        EXPECT_GT(distance(precise, precise_gradient(row, batch)), 10 * bound)
            << "moments of the batch would not be noticed";
        const Shared shared =
            share_out(row, batch, ranks, SampleShare::Sums::kLater, SampleShare::Moments::kOfShare);
        for (size_t rank = 0; rank < shared.gradients.size(); ++rank) {
          EXPECT_TRUE(shared.gradients[rank].equal(shared.gradients[0])) << network;
          EXPECT_LT(distance(shared.gradients[rank], precise), bound) << network << " by " << ranks;
          EXPECT_NEAR(shared.losses[rank], loss, 1e-6 * loss);
          for (size_t i = 0; i < running.size(); ++i)
            EXPECT_TRUE(shared.buffers[rank][i].equal(running[i])) << "running moments are those of rank 0";
        }
      }
    }
  }
}

TEST(SharedBatch, AFewSamplesAreComputedByAllRanks) {
  if (!testing::machine_has("avx2", kernels::are_available())) return;
  const Case row{"resnet20:width=4"};
  Replica alone(row, {});
  const Batch batch = random_batch(row, 3, alone.model);
  const torch::Tensor expected = alone.gradient(batch);
  for (const auto sums : {SampleShare::Sums::kExact, SampleShare::Sums::kLater}) {
    for (const torch::Tensor& gradient : share_out(row, batch, 4, sums).gradients)
      EXPECT_TRUE(gradient.equal(expected));
  }
}

TEST(SharedBatch, LibtorchsKernelsAreRefused) {
  const auto groups = make_thread_groups(2);
  Model model = build_network(find_network("mlp"), {}, /*seed=*/1);
  use_kernels(*model.module, Kernels::kAten);
  FlatParameters parameters(*model.module);
  GradientBudget budget;
  testing::expect_error(
      [&] {
        GradientOracle(model, parameters, budget, GradientOracle::Options{.sharing = {groups[0].get()}});
      },
      {"own kernels"});
}

TEST(SharedBatch, EvaluationDoesNotDependOnTheNumberOfRanks) {
  const Case row{"resnet20:width=4"};
  Replica alone(row, {});
  const Batch all = random_batch(row, 700, alone.model);
  const Samples samples{
      all.size(), [&](int64_t begin, int64_t count) {
        return Batch{all.images.slice(0, begin, begin + count), all.labels.slice(0, begin, begin + count)};
      }};
  const Evaluation expected = evaluate(alone.model, samples);
  for (const int ranks : {2, 3}) {
    const auto groups = make_thread_groups(ranks);
    const auto replicas = make_replicas(row, groups, {.sums = SampleShare::Sums::kLater});
    on_threads(replicas.size(), [&](size_t rank) {
      const Evaluation shared = evaluate(replicas[rank]->model, samples, groups[rank].get());
      EXPECT_EQ(shared.loss, expected.loss);
      EXPECT_EQ(shared.accuracy, expected.accuracy);
      EXPECT_EQ(shared.samples, expected.samples);
    });
  }
}

}  // namespace
}  // namespace batchplus
