#pragma once

#include <memory>
#include <string>

#include "layers/normalization.h"

namespace batchplus {

/// What a network has where its description says BatchNorm.
enum class NormalizationKind {
  kBatch,
  /// GroupNorm.
  kGroup,
  /// Nothing.
  kNone,
};

/// "batch", "group" or "none"; an Error otherwise. `where` is what the word was given as.
NormalizationKind parse_normalization_kind(const std::string& word, const std::string& where);
std::string to_string(NormalizationKind kind);

std::shared_ptr<NormalizationLayer> make_normalization(NormalizationKind kind, int64_t channels);

/// Whether a convolution has a bias of its own that has none beside normalisation. Normalisation takes a
/// shift of its input away again and adds its own, so a bias there does nothing; without it there would be
/// no shift at all.
bool has_convolution_bias(NormalizationKind kind);

}  // namespace batchplus
