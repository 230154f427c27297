#include "run/provenance.h"

#include <ATen/Parallel.h>
#include <torch/version.h>

#include "kernels/processor.h"
#include "kernels/revision.h"
#include "util/clock.h"
#include "util/processor_name.h"
#include "util/version.h"

namespace batchplus {

bool gives_portable_bits(const RunPlan& plan, const RunEnvironment& environment) {
  const Sharing& sharing = environment.sharing;
  const bool is_exact = sharing.group == nullptr || sharing.sums == kernels::SampleShare::Sums::kExact;
  return plan.network.kernels != Kernels::kAten && kernels::are_available() && environment.device.is_cpu() &&
         is_exact;
}

Json provenance(const RunPlan& plan, const RunEnvironment& environment) {
  const Sharing& sharing = environment.sharing;
  Json about = {
      {"batchplus", kVersion},
      {"commit", kCommit},
      {"libtorch", TORCH_VERSION},
      {"compiler", __VERSION__},
      {"processor", processor_name()},
      {"instruction_set", kernels::name_of(kernels::instruction_set())},
      {"kernels_revision", kernels::kRevision},
      {"threads", at::get_num_threads()},
      {"processes", sharing.group != nullptr ? sharing.group->size() : 1},
      {"device", environment.device.str()},
      {"has_portable_bits", gives_portable_bits(plan, environment)},
      {"started", utc_timestamp()},
  };
  if (sharing.group != nullptr)
    about["reduction"] = sharing.sums == kernels::SampleShare::Sums::kExact ? "exact" : "fast";
  return about;
}

}  // namespace batchplus
