#include "kernels/processor.h"

#include <fmt/format.h>
#include <hwy/targets.h>

#include <array>
#include <cstdlib>

#include "util/error.h"

namespace batchplus::kernels {
namespace {

constexpr std::array kAll = {InstructionSet::kBaseline, InstructionSet::kAvx2, InstructionSet::kAvx512};

InstructionSet best_of_machine() {
#if defined(__x86_64__)
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                        __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
                          __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                          __builtin_cpu_supports("avx512bw");
  if (has_avx2) return has_avx512 ? InstructionSet::kAvx512 : InstructionSet::kAvx2;
#endif
  return InstructionSet::kBaseline;
}

InstructionSet named(const std::string& name, InstructionSet best) {
  for (const InstructionSet set : kAll) {
    if (name_of(set) != name) continue;
    if (set <= best) return set;
    throw Error("this processor has no such instructions",
                {"BATCHPLUS_CPU", name, fmt::format("at most {} here", name_of(best))});
  }
  throw Error("no such instruction set", {"BATCHPLUS_CPU", name, "avx512, avx2 or baseline"});
}

InstructionSet choose() {
  const InstructionSet best = best_of_machine();
  const char* name = std::getenv("BATCHPLUS_CPU");
  const InstructionSet set = name == nullptr || *name == '\0' ? best : named(name, best);
#if defined(__x86_64__)
  // Highway dispatches to the best that is left.
  if (set == InstructionSet::kAvx2) hwy::DisableTargets(HWY_AVX3);
#endif
  return set;
}

}  // namespace

InstructionSet instruction_set() {
  static const InstructionSet set = choose();
  return set;
}

std::string name_of(InstructionSet set) {
  switch (set) {
    case InstructionSet::kBaseline: return "baseline";
    case InstructionSet::kAvx2: return "avx2";
    case InstructionSet::kAvx512: return "avx512";
  }
  return "";
}

bool are_available() {
  return instruction_set() != InstructionSet::kBaseline;
}

}  // namespace batchplus::kernels
