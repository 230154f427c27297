#include "sweep/slurm_job.h"

#include <fmt/format.h>

#include <csignal>
#include <cstdlib>
#include <optional>

#include "util/process.h"

namespace batchplus {
namespace {

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

/// One task of an array has the number of the whole array as its own job's, so that this number would mean
/// all of them.
std::optional<std::string> own_job() {
  const auto array = variable("SLURM_ARRAY_JOB_ID");
  const auto task = variable("SLURM_ARRAY_TASK_ID");
  if (array && task) return fmt::format("{}_{}", *array, *task);
  return variable("SLURM_JOB_ID");
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

}  // namespace

std::string requeue_own_job() {
  const auto job = own_job();
  if (!job) return "not queued again: this is no Slurm job";
  // Slurm sends the same signal when a job is cancelled, and would queue a cancelled one again, too.
  const ProcessResult asked = run_process({"squeue", "--noheader", "--format=%T", "--jobs=" + *job}, "/");
  const std::string state = first_line(asked.output);
  if (asked.exit_code != 0 || state != "RUNNING")
    return fmt::format("job {} is not queued again: Slurm has it as {}", *job, state);
  const ProcessResult queued = run_process({"scontrol", "requeue", *job}, "/");
  // Queueing a job again ends its processes, which may be this one's helper, too.
  constexpr int kEndedWithTheJob = 128 + SIGTERM;
  if (queued.exit_code != 0 && queued.exit_code != kEndedWithTheJob)
    return fmt::format("job {} could not be queued again: {}", *job, first_line(queued.output));
  return fmt::format("job {} is queued again", *job);
}

}  // namespace batchplus
