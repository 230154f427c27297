#pragma once

#include <string>
#include <vector>

#include "data/dataset.h"

namespace batchplus {

/// Some of the samples of an image set, in order. The set's tensors are shared, not copied.
struct ImageView {
  ImageSet set;
  std::vector<int64_t> indices;

  int64_t size() const { return static_cast<int64_t>(indices.size()); }
};

/// Which samples a run uses.
struct ViewOptions {
  /// At most so many training and test samples; 0 means all.
  int64_t train_limit = 0;
  int64_t test_limit = 0;
  /// Samples held out of training.
  int64_t validation = 0;
  /// The first (validation: the last) samples in file order instead of a random class-balanced choice.
  bool is_sequential = false;
  /// Chooses the random subsets; the same for all seeds of a run, so that they train on the same samples.
  uint64_t split_seed = 0;
};

struct DatasetViews {
  ImageView train;
  ImageView validation;
  ImageView test;
};

/// How many of `available` training samples the options leave to train on. An Error when there are not
/// enough.
int64_t count_train_samples(const ViewOptions& options, int64_t available);

/// Validation samples are taken first, so that they stay the same for any train_limit. Random subsets keep
/// the classes' proportions: each class gives its share, rounded, and the numbers add up exactly.
DatasetViews make_views(const Dataset& dataset, const ViewOptions& options);

/// What to know of samples that were taken from `whole` in file order; empty unless they lack classes, as the
/// first ones of a folder of pictures do. `name` says what they are: "the test set has".
std::string note_on_file_order(const ImageView& samples, const ImageView& whole, const std::string& name);

/// `count` samples of a view with its classes' proportions, to measure on.
ImageView choose_balanced(const ImageView& view, int64_t count, uint64_t split_seed);

}  // namespace batchplus
