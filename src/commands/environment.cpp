#include "commands/environment.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <torch/cuda.h>

#include <algorithm>

#include "core/openmp_runtimes.h"
#include "kernels/processor.h"
#include "util/cores.h"
#include "util/error.h"

namespace batchplus {
namespace {

/// libtorch's own words for a device that is not there come late, after the data were read.
void require_cuda_device(const torch::Device& device, const std::string& text) {
  if (!torch::hasCUDA()) {
    throw Error(
        "this libtorch cannot use the device",
        {"--device", text,
         "it was built without CUDA: use cpu, or build with a libtorch that has it (docs/platforms.md)"});
  }
  const int count = static_cast<int>(torch::cuda::device_count());
  if (std::max<int>(device.index(), 0) < count) return;
  throw Error(
      "there is no such device here",
      {"--device", text, count == 0 ? "CUDA sees none: use cpu" : fmt::format("CUDA sees {}", count)});
}

}  // namespace

torch::Device device_to_compute_on(const GlobalOptions& options) {
  require_one_openmp_runtime();
  const std::string& text = options.device;
  const Error not_a_device("not a device", {"--device", text, "cpu, cuda or cuda:I"});
  try {
    const torch::Device device(text);
    if (device.is_cpu()) return device;
    if (!device.is_cuda()) throw not_a_device;
    require_cuda_device(device, text);
    return device;
  } catch (const c10::Error&) {
    throw not_a_device;
  }
}

void apply_threads(const GlobalOptions& options) {
  kernels::instruction_set();  // a wrong choice of it shows before anything is done
  at::set_num_threads(options.threads > 0 ? options.threads : static_cast<int>(usable_cores().size()));
}

}  // namespace batchplus
