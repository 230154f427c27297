#include "run/provenance.h"

#include <ATen/Parallel.h>
#include <torch/version.h>

#include <fstream>

#include "kernels/processor.h"
#include "kernels/revision.h"
#include "run/version.h"
#include "util/clock.h"

namespace batchplus {
namespace {

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  std::string line;
  while (std::getline(info, line)) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

}  // namespace

Json provenance(const std::string& device) {
  return {
      {"batchplus", kVersion},
      {"commit", kCommit},
      {"libtorch", TORCH_VERSION},
      {"compiler", __VERSION__},
      {"processor", processor_name()},
      {"instruction_set", kernels::name_of(kernels::instruction_set())},
      {"kernels_revision", kernels::kRevision},
      {"threads", at::get_num_threads()},
      {"device", device},
      {"started", utc_timestamp()},
  };
}

}  // namespace batchplus
