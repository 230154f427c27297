#include "layers/make_normalization.h"

#include "layers/batch_norm.h"
#include "layers/group_norm.h"
#include "layers/no_normalization.h"
#include "util/error.h"

namespace batchplus {

NormalizationKind parse_normalization_kind(const std::string& word, const std::string& where) {
  using enum NormalizationKind;
  for (const NormalizationKind kind : {kBatch, kGroup, kNone}) {
    if (word == to_string(kind)) return kind;
  }
  throw Error("unknown normalisation", {where, word, "batch, group or none"});
}

std::string to_string(NormalizationKind kind) {
  switch (kind) {
    case NormalizationKind::kBatch: return "batch";
    case NormalizationKind::kGroup: return "group";
    case NormalizationKind::kNone: return "none";
  }
  BATCHPLUS_CHECK(false, "the switch covers every kind");
}

std::shared_ptr<NormalizationLayer> make_normalization(NormalizationKind kind, int64_t channels) {
  switch (kind) {
    case NormalizationKind::kBatch: return std::make_shared<BatchNorm>(channels);
    case NormalizationKind::kGroup: return std::make_shared<GroupNorm>(channels);
    case NormalizationKind::kNone: return std::make_shared<NoNormalization>();
  }
  BATCHPLUS_CHECK(false, "the switch covers every kind");
}

bool has_convolution_bias(NormalizationKind kind) {
  return kind == NormalizationKind::kNone;
}

}  // namespace batchplus
