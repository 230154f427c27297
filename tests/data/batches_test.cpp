#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "data/batch_pipeline.h"
#include "data/image_transform.h"
#include "data/image_view.h"
#include "support/expect_error.h"

namespace batchplus {
namespace {

using testing::expect_error;

const Normalization kUnit{{0, 0, 0}, {1, 1, 1}};

/// n images of 3x32x32 whose first pixel tells their index, with label i % 10.
ImageSet numbered_images(int64_t n) {
  torch::manual_seed(1);
  ImageSet set{torch::randint(1, 256, {n, 3, 32, 32}).to(torch::kUInt8), torch::arange(n) % 10};
  for (int64_t i = 0; i < n; ++i) set.images[i][0][0][0] = i % 256;
  return set;
}

ImageView whole(const ImageSet& set) {
  ImageView view{set, {}};
  for (int64_t i = 0; i < set.size(); ++i) view.indices.push_back(i);
  return view;
}

Dataset dataset_of(int64_t train, int64_t test) {
  Dataset dataset;
  dataset.train = numbered_images(train);
  dataset.test = numbered_images(test);
  dataset.class_names.resize(10);
  return dataset;
}

TEST(ImageTransform, NormalisesLikeToTensorAndNormalize) {
  const ImageSet set = numbered_images(5);
  const Normalization normalization{{0.4914, 0.4822, 0.4465}, {0.2470, 0.2435, 0.2616}};
  const std::vector<int64_t> indices = {3, 0};
  const torch::Tensor out = torch::empty({2, 3, 32, 32});
  ImageTransform(normalization, false).apply(set, indices, 1, 1, out);
  const torch::Tensor mean = torch::tensor({0.4914F, 0.4822F, 0.4465F}).view({3, 1, 1});
  const torch::Tensor std = torch::tensor({0.2470F, 0.2435F, 0.2616F}).view({3, 1, 1});
  for (int64_t i = 0; i < 2; ++i) {
    // Two roundings of values up to 2.6 in each of the two ways to compute it.
    const torch::Tensor expected = (set.images[indices[i]].to(torch::kFloat32) / 255 - mean) / std;
    EXPECT_LT((out[i] - expected).abs().max().item<double>(), 5e-7) << i;
  }
}

/// The mirrored, padded and cropped image by ATen's own operations.
torch::Tensor slow_augmentation(const torch::Tensor& image, bool is_mirrored, int64_t top, int64_t left) {
  const torch::Tensor padded = at::constant_pad_nd(image.to(torch::kFloat32) / 255, {4, 4, 4, 4});
  const torch::Tensor crop = padded.slice(1, top, top + 32).slice(2, left, left + 32);
  return is_mirrored ? crop.flip(2) : crop;
}

TEST(ImageTransform, AugmentationIsAMirroredCropOfThePaddedImage) {
  const ImageSet set = numbered_images(200);
  const ImageView view = whole(set);
  const torch::Tensor out = torch::empty({200, 3, 32, 32});
  ImageTransform(kUnit, true).apply(set, view.indices, 1, 1, out);
  std::set<std::tuple<bool, int64_t, int64_t>> seen;
  for (int64_t i = 0; i < 200; ++i) {
    int matches = 0;
    for (const bool is_mirrored : {false, true}) {
      for (int64_t top = 0; top <= 8; ++top) {
        for (int64_t left = 0; left <= 8; ++left) {
          const torch::Tensor slow = slow_augmentation(set.images[i], is_mirrored, top, left);
          if (!at::allclose(out[i], slow, 0, 1e-6)) continue;  // another image differs by 1/255 at least
          ++matches;
          seen.insert({is_mirrored, top, left});
        }
      }
    }
    ASSERT_EQ(matches, 1) << i;
  }
  EXPECT_GT(seen.size(), 100U);  // of 162
}

TEST(ImageTransform, PadsWithNormalisedZeros) {
  ImageSet set = numbered_images(50);
  set.images.fill_(255);
  const Normalization normalization{{0.5, 0.5, 0.5}, {0.25, 0.25, 0.25}};
  const torch::Tensor out = torch::empty({50, 3, 32, 32});
  ImageTransform(normalization, true).apply(set, whole(set).indices, 1, 1, out);
  EXPECT_EQ(out.min().item<float>(), -2);
  EXPECT_EQ(out.max().item<float>(), 2);
}

TEST(ImageTransform, DrawsBySeedEpochAndSampleAlone) {
  const ImageSet set = numbered_images(40);
  const ImageTransform transform(kUnit, true);
  const auto draw = [&](const std::vector<int64_t>& indices, uint64_t seed, uint64_t epoch) {
    const torch::Tensor out = torch::empty({static_cast<int64_t>(indices.size()), 3, 32, 32});
    transform.apply(set, indices, seed, epoch, out);
    return out;
  };
  const auto all = draw(whole(set).indices, 1, 1);
  EXPECT_TRUE(draw({7, 30}, 1, 1)[1].equal(all[30]));
  const int threads = at::get_num_threads();
  at::set_num_threads(threads == 1 ? 2 : 1);
  EXPECT_TRUE(draw(whole(set).indices, 1, 1).equal(all));
  at::set_num_threads(threads);
  EXPECT_FALSE(draw(whole(set).indices, 2, 1).equal(all));
  EXPECT_FALSE(draw(whole(set).indices, 1, 2).equal(all));
}

TEST(Views, LimitsAreBalancedAndIndependentOfEachOther) {
  const Dataset dataset = dataset_of(1000, 500);
  const DatasetViews views =
      make_views(dataset, {.train_limit = 105, .test_limit = 50, .validation = 100, .split_seed = 3});
  const auto counts = [](const ImageView& view) {
    std::map<int64_t, int> count;
    for (const int64_t i : view.indices) ++count[view.set.labels[i].item<int64_t>()];
    return count;
  };
  EXPECT_EQ(views.train.size(), 105);
  EXPECT_EQ(views.validation.size(), 100);
  EXPECT_EQ(views.test.size(), 50);
  for (const auto& [label, count] : counts(views.train)) EXPECT_NEAR(count, 10.5, 0.5) << label;
  for (const auto& [label, count] : counts(views.validation)) EXPECT_EQ(count, 10) << label;
  for (const auto& [label, count] : counts(views.test)) EXPECT_EQ(count, 5) << label;
  std::set<int64_t> validation(views.validation.indices.begin(), views.validation.indices.end());
  for (const int64_t i : views.train.indices) EXPECT_FALSE(validation.contains(i));
  const DatasetViews larger = make_views(dataset, {.train_limit = 500, .validation = 100, .split_seed = 3});
  EXPECT_EQ(larger.validation.indices, views.validation.indices);
  const DatasetViews other = make_views(dataset, {.validation = 100, .split_seed = 4});
  EXPECT_NE(other.validation.indices, views.validation.indices);
  EXPECT_EQ(other.train.size(), 900);
}

TEST(Views, SequentialTakesTheFirstRecordsAndTheLastForValidation) {
  const DatasetViews views =
      make_views(dataset_of(100, 20), {.train_limit = 5, .validation = 3, .is_sequential = true});
  EXPECT_EQ(views.train.indices, (std::vector<int64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(views.validation.indices, (std::vector<int64_t>{97, 98, 99}));
}

// As the first pictures of a folder are: they are sorted by class.
TEST(Views, InFileOrderThatLackClassesGetANote) {
  Dataset dataset = dataset_of(100, 20);
  dataset.train.labels = torch::arange(100).floor_divide(10);
  const ImageView all = make_views(dataset, {}).train;
  const auto note_of = [&](int64_t first) {
    const ImageView part = make_views(dataset, {.train_limit = first, .is_sequential = true}).train;
    return note_on_file_order(part, all, "the training set has");
  };
  EXPECT_EQ(note_of(25), "in file order the training set has 3 of 10 classes");
  EXPECT_EQ(note_of(91), "");
  EXPECT_EQ(note_of(100), "");
}

TEST(Views, RefuseMoreSamplesThanThereAre) {
  const Dataset dataset = dataset_of(100, 20);
  expect_error([&] { make_views(dataset, {.train_limit = 101}); }, {"train_limit", "101", "0 to 100"});
  expect_error([&] { make_views(dataset, {.train_limit = 95, .validation = 10}); },
               {"the validation set leaves fewer", "train_limit", "95", "90 of 100 are left"});
  expect_error([&] { make_views(dataset, {.test_limit = 21}); }, {"test_limit"});
  expect_error([&] { make_views(dataset, {.validation = 100}); }, {"validation"});
}

BatchSource source_of(int64_t n, int64_t inner, Sampling sampling, uint64_t seed = 1) {
  return BatchSource(whole(numbered_images(n)), ImageTransform(kUnit, false),
                     {.seed = seed, .sampling = sampling, .inner_size = inner});
}

/// The indices of an outer batch's samples, read from their first pixels.
std::vector<int64_t> members(const OuterBatch& outer) {
  std::vector<int64_t> indices;
  const auto add = [&](const Batch& batch) {
    for (int64_t i = 0; i < batch.size(); ++i)
      indices.push_back(std::llround(batch.images[i][0][0][0].item<double>() * 255));
  };
  for (int64_t t = 0; t < outer.inner_batches(); ++t) add(outer.inner(t));
  if (outer.has_remainder()) add(outer.remainder());
  return indices;
}

TEST(BatchSource, EpochIsAShuffledPass) {
  BatchSource source = source_of(96, 8, Sampling::kEpoch);
  const auto pass = [&](int64_t epoch) {
    source.begin_epoch(epoch, 16);
    std::vector<int64_t> order;
    EXPECT_EQ(source.outer_batches(), 6);
    for (int64_t i = 0; i < 6; ++i) {
      for (const int64_t index : members(source.outer_batch(i))) order.push_back(index);
    }
    return order;
  };
  const auto first = pass(0);
  EXPECT_EQ(std::set<int64_t>(first.begin(), first.end()).size(), 96U);
  EXPECT_NE(pass(1), first);
  EXPECT_EQ(pass(0), first);
}

TEST(BatchSource, LabelsBelongToTheirImages) {
  BatchSource source = source_of(96, 8, Sampling::kEpoch);
  source.begin_epoch(3, 16);
  const Batch batch = source.outer_batch(2).inner(1);
  for (int64_t i = 0; i < 8; ++i) {
    EXPECT_EQ(batch.labels[i].item<int64_t>(),
              std::llround(batch.images[i][0][0][0].item<double>() * 255) % 10);
  }
}

TEST(BatchSource, SequentialTakesTheFilesOrder) {
  BatchSource source = source_of(40, 8, Sampling::kSequential);
  source.begin_epoch(5, 16);
  EXPECT_EQ(members(source.outer_batch(1)).front(), 16);
  EXPECT_EQ(members(source.outer_batch(1)).back(), 31);
}

TEST(BatchSource, EndsAPassWithAShorterOuterBatchIfItHoldsAnInnerOne) {
  BatchSource source = source_of(40, 8, Sampling::kSequential);
  source.begin_epoch(0, 16);
  ASSERT_EQ(source.outer_batches(), 3);
  EXPECT_EQ(source.outer_batch_size(2), 8);
  EXPECT_EQ(source.outer_batch(2).inner_batches(), 1);
  source.begin_epoch(0, 18);  // 18 + 18 + 4
  EXPECT_EQ(source.outer_batches(), 2);
  EXPECT_TRUE(source.outer_batch(0).has_remainder());
  EXPECT_EQ(source.outer_batch(0).remainder().size(), 2);
}

TEST(BatchSource, IndependentDrawsWithoutReplacementWithinAnOuterBatch) {
  BatchSource source = source_of(50, 5, Sampling::kIndependent);
  source.begin_epoch(0, 20);
  EXPECT_EQ(source.outer_batches(), 2);
  const auto a = members(source.outer_batch(0));
  const auto b = members(source.outer_batch(1));
  EXPECT_EQ(std::set<int64_t>(a.begin(), a.end()).size(), 20U);
  EXPECT_NE(a, b);
  EXPECT_EQ(members(source.outer_batch(0)), a);
}

TEST(BatchSource, ReplaySeedsBelongToThePlaceInTheEpochAndNotToTheOuterBatchSize) {
  BatchSource source = source_of(96, 8, Sampling::kEpoch);
  source.begin_epoch(1, 8);
  const uint64_t alone = source.outer_batch(3).inner(0).replay_seed;
  source.begin_epoch(1, 16);
  EXPECT_EQ(source.outer_batch(1).inner(1).replay_seed, alone);
  EXPECT_NE(source.outer_batch(1).inner(0).replay_seed, alone);
  source.begin_epoch(2, 16);
  EXPECT_NE(source.outer_batch(1).inner(1).replay_seed, alone);
}

TEST(BatchSource, WritesChannelsLastWithTheSameNumbers) {
  const ImageView view = whole(numbered_images(40));
  const ImageTransform transform({{0.4, 0.5, 0.6}, {0.2, 0.3, 0.25}}, true);
  BatchSource planar(view, transform, {.seed = 1, .inner_size = 8});
  BatchSource interleaved(view, transform,
                          {.seed = 1, .inner_size = 8, .memory_format = torch::MemoryFormat::ChannelsLast});
  planar.begin_epoch(2, 16);
  interleaved.begin_epoch(2, 16);
  for (int64_t i = 0; i < 3; ++i) {
    const Batch batch = interleaved.outer_batch(i).inner(0);
    EXPECT_TRUE(batch.images.is_contiguous(torch::MemoryFormat::ChannelsLast));
    EXPECT_TRUE(batch.images.equal(planar.outer_batch(i).inner(0).images));
  }
}

/// All images, labels and replay seeds of two epochs, one after the other.
template <class Source>
std::vector<Batch> all_batches(Source& source, int64_t outer_size) {
  std::vector<Batch> batches;
  for (const int64_t epoch : {0, 1}) {
    source.begin_epoch(epoch, outer_size);
    for (int64_t i = 0; i < source.outer_batches(); ++i) {
      const OuterBatch outer = source.outer_batch(i);
      for (int64_t t = 0; t < outer.inner_batches(); ++t) {
        const Batch batch = outer.inner(t);
        batches.push_back({batch.images.clone(), batch.labels.clone(), batch.replay_seed});
      }
    }
  }
  return batches;
}

TEST(BatchPipeline, HandsOutTheSameBitsForAnyThreadsAndOuterBatch) {
  const ImageView view = whole(numbered_images(203));
  const auto make = [&] {
    return BatchSource(view, ImageTransform(kUnit, true), {.seed = 3, .inner_size = 8});
  };
  BatchSource source = make();
  const auto expected = all_batches(source, 8);
  const int threads = at::get_num_threads();
  for (const int count : {1, 2}) {
    at::set_num_threads(count);
    for (const int64_t outer_size : {8, 16, 40}) {
      BatchSource other = make();
      BatchPipeline pipeline(other);
      const auto batches = all_batches(pipeline, outer_size);
      ASSERT_EQ(batches.size(), expected.size()) << outer_size;
      for (size_t b = 0; b < batches.size(); ++b) {
        ASSERT_TRUE(batches[b].images.equal(expected[b].images)) << outer_size << ", batch " << b;
        ASSERT_TRUE(batches[b].labels.equal(expected[b].labels));
        ASSERT_EQ(batches[b].replay_seed, expected[b].replay_seed);
      }
    }
  }
  at::set_num_threads(threads);
}

TEST(BatchPipeline, UsesTwoBuffersInTurn) {
  BatchSource source = source_of(96, 8, Sampling::kEpoch);
  BatchPipeline pipeline(source);
  pipeline.begin_epoch(0, 16);
  const auto address = [&](int64_t i) { return pipeline.outer_batch(i).inner(0).images.data_ptr(); };
  const void* first = address(0);
  const void* second = address(1);
  EXPECT_NE(first, second);
  EXPECT_EQ(address(2), first);
  EXPECT_EQ(address(3), second);
  pipeline.begin_epoch(1, 16);  // with a batch still being prepared
  EXPECT_EQ(address(0), first);
}

TEST(BatchPipeline, MayBeLeftInTheMiddleOrAskedOutOfOrder) {
  BatchSource source = source_of(96, 8, Sampling::kEpoch);
  BatchPipeline pipeline(source);
  pipeline.begin_epoch(0, 16);
  pipeline.outer_batch(0);
  EXPECT_EQ(members(pipeline.outer_batch(4)), members(source.outer_batch(4)));
  EXPECT_EQ(members(pipeline.outer_batch(2)), members(source.outer_batch(2)));
}

}  // namespace
}  // namespace batchplus
