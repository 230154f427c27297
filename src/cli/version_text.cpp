#include "cli/version_text.h"

#include <fmt/format.h>

#include "kernels/processor.h"
#include "kernels/revision.h"
#include "util/processor_name.h"
#include "util/version.h"

namespace batchplus {

std::string version_text(const Catalog& catalog) {
  return fmt::format(
      "batchplus {} ({})\n"
      "libtorch  {}\n"
      "kernels   revision {}, by {}\n"
      "processor {}",
      kVersion, kCommit, catalog.libtorch, kernels::kRevision, kernels::name_of(kernels::instruction_set()),
      processor_name());
}

}  // namespace batchplus
