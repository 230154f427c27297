// Measuring that the ranks of a group share out, here threads.

#include "metrics/shared_chunks.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "data/load_dataset.h"
#include "metrics/measurer.h"
#include "metrics/registry.h"
#include "networks/registry.h"
#include "support/ranks.h"

namespace batchplus {
namespace {

using testing::run_ranks;

/// Numbers whose sum depends on the order: [d].
torch::Tensor numbers_of(const SharedChunks::Chunk& chunk, int64_t size) {
  const torch::Tensor seeds =
      at::arange(1, size + 1, torch::kFloat64) * static_cast<double>(chunk.number + 3);
  return (at::exp(20 * at::sin(seeds)) * static_cast<double>(chunk.count)).to(torch::kFloat32);
}

TEST(SharedChunks, AreAddedInTheOrderOfOneProcess) {
  constexpr int64_t kChunk = 4;
  for (const int64_t samples : {3, 17, 44}) {
    for (const int64_t size : {1, 2, 1001}) {
      const SharedChunks alone(samples, kChunk, nullptr);
      torch::Tensor expected = torch::zeros({size}, torch::kFloat64);
      alone.for_each([&](const auto& chunk) { expected += numbers_of(chunk, size); }, nullptr);
      for (const int ranks : {1, 2, 3, 5}) {
        run_ranks(ranks, [&](Group& group) {
          const SharedChunks chunks(samples, kChunk, &group);
          int64_t passed = 0;
          const torch::Tensor sum = chunks.sum(
              torch::zeros({size}), [&](const auto& chunk) { return numbers_of(chunk, size); },
              [&](int64_t count) { passed += count; });
          EXPECT_TRUE(at::equal(sum, expected)) << samples << " samples, " << ranks << " ranks";
          EXPECT_EQ(passed, samples);
        });
      }
    }
  }
}

TEST(SharedChunks, GatherWhatEachRankFilledIn) {
  for (const int ranks : {1, 2, 3, 5}) {
    run_ranks(ranks, [&](Group& group) {
      const SharedChunks chunks(29, 4, &group);
      constexpr size_t kColumns = 3;
      std::vector<double> rows(static_cast<size_t>(chunks.number()) * kColumns, -1);
      int64_t own = 0;
      const auto fill = [&](const SharedChunks::Chunk& chunk) {
        for (size_t i = 0; i < kColumns; ++i) {
          const size_t place = static_cast<size_t>(chunk.number) * kColumns + i;
          rows[place] = static_cast<double>(place);
        }
        ++own;
      };
      chunks.for_each(fill, nullptr);
      EXPECT_LE(own, (chunks.number() + ranks - 1) / ranks) << "the others have the rest";
      chunks.gather(rows.data(), kColumns);
      for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i], static_cast<double>(i));
    });
  }
}

/// A network of a rank's own, on samples that all have.
struct Replica {
  explicit Replica(const std::string& network)
      : model(build_network(find_network(network), {}, /*seed=*/1)), parameters(*model.module) {}

  std::string measure(Group* group, BatchNorm::Statistics statistics) {
    Measurer measurer(
        {model, parameters, views.train, views.test, dataset.normalization, torch::kCPU},
        {.statistics = statistics, .chunk = 8, .training = ImplicitRegularization{}, .group = group},
        nullptr);
    std::string text = to_json(measure_groups(measurer, {"gradient-norms", "noise-scale", "gaps", "bound",
                                                         "implicit-regularization"}))
                           .dump();
    const SampleGradientNorms& norms = measurer.norms(measurer.gradient_samples());
    for (const torch::Tensor& numbers :
         {norms.losses, norms.layer_squared_norms, norms.gradient.to(torch::kFloat64)}) {
      text.append(static_cast<const char*>(numbers.contiguous().data_ptr()), numbers.nbytes());
    }
    return text;
  }

  Dataset dataset = load_dataset(find_dataset("synthetic"), ".");
  DatasetViews views = make_views(dataset, {.train_limit = 70, .test_limit = 300});
  Model model;
  FlatParameters parameters;
};

TEST(SharedChunks, MeasureTheBitsOfOneProcess) {
  for (const std::string network : {"resnet20:width=4", "smallcnn:width=4"}) {
    for (const auto statistics : {BatchNorm::Statistics::kRunning, BatchNorm::Statistics::kBatch}) {
      const std::string expected = Replica(network).measure(nullptr, statistics);
      for (const int ranks : {2, 3}) {
        // One after the other: they draw from libtorch's one generator.
        std::vector<std::unique_ptr<Replica>> replicas;
        for (int rank = 0; rank < ranks; ++rank) replicas.push_back(std::make_unique<Replica>(network));
        run_ranks(ranks, [&](Group& group) {
          EXPECT_TRUE(replicas[static_cast<size_t>(group.rank())]->measure(&group, statistics) == expected)
              << network << ", rank " << group.rank() << " of " << ranks;
        });
      }
    }
  }
}

}  // namespace
}  // namespace batchplus
