#include "store/lost_status.h"

namespace batchplus {
namespace fs = std::filesystem;

bool has_lost_status(const RunLayout& layout) {
  // In this order: what is here now has had its status before.
  const bool has_results = fs::exists(layout.metrics()) || fs::exists(layout.weights());
  return has_results && fs::exists(layout.config()) && !layout.holds_run();
}

}  // namespace batchplus
