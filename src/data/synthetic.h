#pragma once

#include "data/dataset.h"

namespace batchplus {

/// Ten classes of 3x32x32 images, made in memory: each class is three smooth random patterns; a sample is one
/// of them, moved by up to four pixels, scaled, with noise several times as strong as the pattern. A tenth of
/// the training labels is drawn at random, so that memorising the training set hurts. Always the same images.
Dataset make_synthetic();

}  // namespace batchplus
