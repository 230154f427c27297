#include "objective/snapshot.h"

#include <gtest/gtest.h>

#include "support/rig.h"

namespace batchplus {
namespace {

using testing::largest_difference;
using testing::random_outer_batch;
using testing::Rig;

TEST(Snapshot, MeanCoversAllSamplesWeightedBySize) {
  Rig rig(testing::small_mlp());
  const OuterBatch outer = random_outer_batch(100, 30);
  Snapshot snapshot(rig.oracle, {.gradients = SnapshotGradients::kCache});
  snapshot.take(outer);
  EXPECT_EQ(outer.inner_batches(), 3);
  torch::Tensor expected = torch::zeros({rig.parameters.size()}, torch::kFloat64);
  for (int64_t t = 0; t < 3; ++t) expected += 0.3 * rig.gradient(outer.inner(t)).to(torch::kFloat64);
  expected += 0.1 * rig.gradient(outer.remainder()).to(torch::kFloat64);
  EXPECT_TRUE(snapshot.mean_gradient().equal(expected.to(torch::kFloat32)));
}

TEST(Snapshot, RecomputedEqualsCachedToTheBitWithBatchNormAndDropout) {
  for (const int64_t samples : {32, 36}) {
    Rig cached_rig(testing::small_cnn(0.5));
    Rig recomputed_rig(testing::small_cnn(0.5));
    Snapshot cached(cached_rig.oracle, {.gradients = SnapshotGradients::kCache});
    Snapshot recomputed(recomputed_rig.oracle, {.gradients = SnapshotGradients::kRecompute});
    const OuterBatch outer = random_outer_batch(samples, 8);
    cached.take(outer);
    recomputed.take(outer);
    EXPECT_TRUE(cached.is_cached());
    EXPECT_FALSE(recomputed.is_cached());
    EXPECT_TRUE(cached.mean_gradient().equal(recomputed.mean_gradient()));
    // The iterate has left the snapshot when the gradients are asked for.
    cached_rig.parameters.values().mul_(1.5);
    recomputed_rig.parameters.values().mul_(1.5);
    for (int64_t t = 0; t < outer.inner_batches(); ++t) {
      EXPECT_TRUE(cached.inner_gradient(outer, t).equal(recomputed.inner_gradient(outer, t))) << t;
    }
    EXPECT_TRUE(cached_rig.weights().equal(recomputed_rig.weights()));
    const auto a = cached_rig.buffers();
    const auto b = recomputed_rig.buffers();
    for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(a[i].equal(b[i])) << i;
  }
}

TEST(Snapshot, KeepsGradientsWhileTheyFitTheMemory) {
  const SnapshotOptions limited{.gradients = SnapshotGradients::kAuto, .memory_bytes = 4000};
  EXPECT_TRUE(Snapshot::keeps(limited, 2, 500));
  EXPECT_FALSE(Snapshot::keeps(limited, 2, 501));
  EXPECT_TRUE(Snapshot::keeps({.gradients = SnapshotGradients::kCache, .memory_bytes = 0}, 2, 500));
  EXPECT_FALSE(
      Snapshot::keeps({.gradients = SnapshotGradients::kRecompute, .memory_bytes = 1 << 30}, 2, 500));
}

}  // namespace
}  // namespace batchplus
