#include "data/mixup.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <set>

#include "data/batch_source.h"

namespace batchplus {
namespace {

std::vector<double> draw_betas(double alpha, int count) {
  std::vector<double> values;
  for (int i = 0; i < count; ++i) {
    RandomStream stream(/*seed=*/11, RandomPurpose::kMixup, 0, static_cast<uint64_t>(i));
    values.push_back(draw_beta(alpha, stream));
  }
  std::sort(values.begin(), values.end());
  return values;
}

TEST(DrawBeta, HasTheDistributionWhereItsFunctionIsKnownInClosedForm) {
  constexpr int kDraws = 20000;
  const std::vector<std::pair<double, std::function<double(double)>>> known = {
      {0.5, [](double x) { return 2 / std::numbers::pi * std::asin(std::sqrt(x)); }},
      {1, [](double x) { return x; }},
      {2, [](double x) { return x * x * (3 - 2 * x); }},
      {3, [](double x) { return x * x * x * (10 - 15 * x + 6 * x * x); }}};
  for (const auto& [alpha, distribution] : known) {
    const std::vector<double> values = draw_betas(alpha, kDraws);
    double distance = 0;  // of Kolmogorov and Smirnov
    for (int i = 0; i < kDraws; ++i) {
      const double exact = distribution(values[static_cast<size_t>(i)]);
      distance = std::max({distance, std::abs(exact - i / static_cast<double>(kDraws)),
                           std::abs(exact - (i + 1) / static_cast<double>(kDraws))});
    }
    EXPECT_LT(distance, 1.95 / std::sqrt(kDraws)) << alpha;  // the 99.9 % quantile; the seed is fixed
  }
}

TEST(DrawBeta, HasItsMomentsFromSmallToLargeParameters) {
  constexpr int kDraws = 20000;
  for (const double alpha : {0.01, 0.2, 0.4, 8.0, 1000.0}) {
    double mean = 0;
    double variance = 0;
    for (const double value : draw_betas(alpha, kDraws)) {
      ASSERT_TRUE(value >= 0 && value <= 1) << alpha;
      mean += value / kDraws;
      variance += (value - 0.5) * (value - 0.5) / kDraws;
    }
    const double exact = 1 / (4 * (2 * alpha + 1));
    // Four standard errors; that of the variance is at most sqrt(2 / n) of it.
    EXPECT_NEAR(mean, 0.5, 4 * std::sqrt(exact / kDraws)) << alpha;
    EXPECT_NEAR(variance, exact, 4 * exact * std::sqrt(2.0 / kDraws)) << alpha;
  }
}

ImageView pictures(int64_t samples) {
  torch::manual_seed(1);
  ImageView view{{torch::randint(0, 256, {samples, 3, 8, 8}).to(torch::kUInt8), torch::arange(samples)}, {}};
  for (int64_t i = 0; i < samples; ++i) view.indices.push_back(i);
  return view;
}

BatchSource source_of(double mixup, torch::MemoryFormat format) {
  return BatchSource(pictures(50), ImageTransform({{0.5, 0.5, 0.5}, {0.25, 0.25, 0.25}}, true),
                     {.seed = 4, .inner_size = 8, .mixup = mixup, .memory_format = format});
}

TEST(Mixup, MixesEachInnerBatchWithItselfAndSaysWithWhat) {
  for (const auto format : {torch::MemoryFormat::Contiguous, torch::MemoryFormat::ChannelsLast}) {
    BatchSource plain = source_of(0, format);
    BatchSource mixed = source_of(0.7, format);
    plain.begin_epoch(3, 20);
    mixed.begin_epoch(3, 20);
    std::set<double> shares;
    for (int64_t i = 0; i < plain.outer_batches(); ++i) {
      const OuterBatch originals = plain.outer_batch(i);
      const OuterBatch outer = mixed.outer_batch(i);
      ASSERT_EQ(outer.inner_batches(), originals.inner_batches());
      const auto compare = [&](const Batch& batch, const Batch& original) {
        EXPECT_TRUE(batch.labels.equal(original.labels));
        shares.insert(batch.label_share);
        std::set<int64_t> partners;
        for (int64_t s = 0; s < batch.size(); ++s) {
          // Labels are the samples' own numbers here.
          const auto label = batch.partner_labels[s].item<int64_t>();
          partners.insert(label);
          const auto place = original.labels.eq(label).nonzero();
          ASSERT_EQ(place.numel(), 1) << "a partner is of the same inner batch";
          const torch::Tensor expected =
              batch.label_share * original.images[s].to(torch::kFloat64) +
              (1 - batch.label_share) * original.images[place.item<int64_t>()].to(torch::kFloat64);
          // Three roundings of numbers up to 2.
          EXPECT_LT((batch.images[s] - expected).abs().max().item<double>(), 4e-7);
        }
        EXPECT_EQ(static_cast<int64_t>(partners.size()), batch.size()) << "each is a partner once";
      };
      for (int64_t t = 0; t < outer.inner_batches(); ++t) compare(outer.inner(t), originals.inner(t));
      if (outer.has_remainder()) compare(outer.remainder(), originals.remainder());
    }
    EXPECT_EQ(shares.size(), 8U) << "one share for each batch";
  }
}

TEST(Mixup, IsDrawnByThePlaceOfTheInnerBatchAlone) {
  BatchSource small = source_of(0.7, torch::MemoryFormat::Contiguous);
  BatchSource large = source_of(0.7, torch::MemoryFormat::Contiguous);
  small.begin_epoch(2, 8);
  large.begin_epoch(2, 24);
  const Batch late = large.outer_batch(1).inner(1);  // asked for first
  const Batch same = small.outer_batch(4).inner(0);
  EXPECT_TRUE(late.images.equal(same.images));
  EXPECT_TRUE(late.partner_labels.equal(same.partner_labels));
  EXPECT_EQ(late.label_share, same.label_share);
}

}  // namespace
}  // namespace batchplus
