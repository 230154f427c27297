#include "data/image_view.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/random_stream.h"
#include "util/error.h"

namespace batchplus {
namespace {

enum class SplitPart : uint64_t { kValidation = 0, kTrain = 1, kTest = 2, kMeasurement = 3 };

/// `count` of `candidates` with the classes in equal proportion, chosen at random, returned in file order.
std::vector<int64_t> balanced_subset(const std::vector<int64_t>& candidates, const torch::Tensor& labels,
                                     int64_t classes, int64_t count, uint64_t split_seed, SplitPart part) {
  const int64_t* label = labels.data_ptr<int64_t>();
  std::vector<std::vector<int64_t>> by_class(static_cast<size_t>(classes));
  const auto order =
      random_permutation(static_cast<int64_t>(candidates.size()),
                         RandomStream(split_seed, RandomPurpose::kSplit, 0, static_cast<uint64_t>(part)));
  for (const int64_t position : order) by_class[label[candidates[position]]].push_back(candidates[position]);

  // Sorting all samples by how far they are within their class makes every prefix proportional.
  std::vector<std::pair<double, int64_t>> ranked;
  for (const auto& members : by_class) {
    for (size_t i = 0; i < members.size(); ++i) {
      ranked.emplace_back((static_cast<double>(i) + 0.5) / static_cast<double>(members.size()), members[i]);
    }
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<int64_t> subset;
  for (int64_t i = 0; i < count; ++i) subset.push_back(ranked[i].second);
  std::sort(subset.begin(), subset.end());
  return subset;
}

void require_count(int64_t count, int64_t available, const char* where) {
  if (count >= 0 && count <= available) return;
  throw Error("wrong number of samples",
              {where, std::to_string(count), fmt::format("give a number from 0 to {}", available)});
}

}  // namespace

int64_t count_train_samples(const ViewOptions& options, int64_t available) {
  require_count(options.validation, available - 1, "validation");
  const int64_t left = available - options.validation;
  if (options.validation > 0 && options.train_limit > left) {
    throw Error("the validation set leaves fewer samples to train on",
                {"train_limit", std::to_string(options.train_limit),
                 fmt::format("{} of {} are left beside {{validation}} {}: lower one of them", left, available,
                             options.validation)});
  }
  require_count(options.train_limit, left, "train_limit");
  return options.train_limit > 0 ? options.train_limit : available - options.validation;
}

DatasetViews make_views(const Dataset& dataset, const ViewOptions& options) {
  const int64_t available = dataset.train.size();
  count_train_samples(options, available);
  require_count(options.test_limit, dataset.test.size(), "test_limit");

  std::vector<int64_t> train(static_cast<size_t>(available));
  std::iota(train.begin(), train.end(), int64_t{0});
  std::vector<int64_t> test(static_cast<size_t>(dataset.test.size()));
  std::iota(test.begin(), test.end(), int64_t{0});

  const auto limit = [&](std::vector<int64_t>& indices, const ImageSet& set, int64_t count, SplitPart part) {
    if (count == 0 || count == static_cast<int64_t>(indices.size())) return;
    if (options.is_sequential) {
      indices.resize(static_cast<size_t>(count));
    } else {
      indices = balanced_subset(indices, set.labels, dataset.classes(), count, options.split_seed, part);
    }
  };

  DatasetViews views;
  views.validation.set = dataset.train;
  if (options.validation > 0) {
    if (options.is_sequential) {
      views.validation.indices.assign(train.end() - options.validation, train.end());
    } else {
      views.validation.indices =
          balanced_subset(train, dataset.train.labels, dataset.classes(), options.validation,
                          options.split_seed, SplitPart::kValidation);
    }
    std::vector<int64_t> rest;
    std::set_difference(train.begin(), train.end(), views.validation.indices.begin(),
                        views.validation.indices.end(), std::back_inserter(rest));
    train = std::move(rest);
  }
  limit(train, dataset.train, options.train_limit, SplitPart::kTrain);
  limit(test, dataset.test, options.test_limit, SplitPart::kTest);
  views.train = {dataset.train, std::move(train)};
  views.test = {dataset.test, std::move(test)};
  return views;
}

std::string note_on_file_order(const ImageView& samples, const ImageView& whole, const std::string& name) {
  const auto count_classes = [](const ImageView& view) {
    const torch::Tensor labels = view.set.labels.index_select(0, torch::tensor(view.indices, torch::kInt64));
    return std::get<0>(at::_unique(labels)).numel();
  };
  if (samples.size() == 0 || samples.size() == whole.size()) return "";
  const int64_t classes = count_classes(whole);
  const int64_t here = count_classes(samples);
  if (here == classes) return "";
  return fmt::format("in file order {} {} of {} classes", name, here, classes);
}

ImageView choose_balanced(const ImageView& view, int64_t count, uint64_t split_seed) {
  require_count(count, view.size(), "samples");
  const int64_t classes = view.set.labels.max().item<int64_t>() + 1;
  return {view.set, balanced_subset(view.indices, view.set.labels, classes, count, split_seed,
                                    SplitPart::kMeasurement)};
}

}  // namespace batchplus
