#include "config/sweep_request.h"

#include <fmt/format.h>

namespace batchplus {

std::string scale_of(const Spec& spec, const SweepRequest& request) {
  if (!request.scale.empty()) return request.scale;
  return spec.scales.size() == 1 ? spec.scales.front().name : "paper";
}

std::filesystem::path directory_of(const Spec& spec, const SweepRequest& request) {
  if (!request.directory.empty()) return request.directory;
  return std::filesystem::path("sweeps") / fmt::format("{}-{}", spec.name, scale_of(spec, request));
}

}  // namespace batchplus
