#include "run/run_group.h"

#include <fmt/format.h>

#include "checkpoint/storage.h"
#include "config/config_toml.h"
#include "config/input_choice.h"
#include "kernels/processor.h"
#include "kernels/revision.h"
#include "util/error.h"
#include "util/version.h"

namespace batchplus {
namespace {

/// Without what may differ from machine to machine, or matters to rank 0 alone.
std::string what_is_asked(RunConfig config) {
  config.data_dir.clear();
  config.out.clear();
  config.save_weights.clear();
  return to_toml(config);
}

}  // namespace

RunConfig agree_on_config(Group& group, const RunConfig& asked, const RunConfig& config) {
  group.agree("the config", what_is_asked(asked), "give all ranks the same options and config file");
  std::string text = to_toml(config);
  group.broadcast(text);
  RunConfig agreed;
  parse_config(agreed, text, "the config of rank 0");
  agreed.data_dir = config.data_dir;
  return agreed;
}

void agree_on_run(Group& group, const RunPlan& plan, const Json& inputs, kernels::SampleShare::Sums sums) {
  const bool is_exact = sums == kernels::SampleShare::Sums::kExact;
  group.agree("the program", fmt::format("{} ({}), kernels {}", kVersion, kCommit, kernels::kRevision),
              "start the same program on all ranks");
  // Vectors of another width lie otherwise in memory.
  group.agree("the instruction set", kernels::name_of(kernels::instruction_set()),
              "set BATCHPLUS_CPU=avx2 on all ranks");
  group.agree("the way to add up gradients", is_exact ? "exact" : "fast",
              "give all ranks the same {reduction}");
  group.agree("the config", result_toml(plan.complete), "give all ranks the same options");
  for (const auto& [input, digest] : inputs.items()) {
    group.agree("the " + describe_input(input), digest.get<std::string>(), "give all ranks the same files");
  }
}

void require_processes_of_moments(const RunConfig& config, const Group* group) {
  const int processes = group != nullptr ? group->size() : 1;
  if (config.local_batch_norm == 0 || config.local_batch_norm == processes) return;
  throw Error("the run's BatchNorm has the moments of each of another number of processes",
              {"local_batch_norm", std::to_string(config.local_batch_norm),
               fmt::format("there are {}; give {{processes}} {}, or begin anew", processes,
                           config.local_batch_norm)});
}

Beginning share(Group& group, Beginning own) {
  std::string result = own.result.dump();
  std::string checkpoint = own.checkpoint ? encode_checkpoint(*own.checkpoint) : "";
  group.broadcast(result);
  group.broadcast(checkpoint);
  if (group.rank() == 0) return own;
  Beginning beginning{Json::parse(result)};
  if (!checkpoint.empty()) beginning.checkpoint = decode_checkpoint(checkpoint, "the checkpoint of rank 0");
  return beginning;
}

}  // namespace batchplus
