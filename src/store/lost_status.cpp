#include "store/lost_status.h"

namespace batchplus {
namespace fs = std::filesystem;

bool has_lost_status(const RunLayout& layout) {
  // In this order: what is here now has had its status before. Somebody's own config.toml may have the
  // weights beside it that it asks for, but no provenance.
  const bool has_weights = fs::exists(layout.weights()) && fs::exists(layout.provenance());
  const bool has_results = fs::exists(layout.metrics()) || has_weights;
  return has_results && fs::exists(layout.config()) && !layout.holds_run();
}

}  // namespace batchplus
