#include "sweep/slurm.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "util/error.h"
#include "util/file.h"
#include "util/process.h"
#include "util/text.h"

namespace batchplus {
namespace fs = std::filesystem;
namespace {

/// Those without a result; cells may share a run.
std::vector<int64_t> open_indices(const Sweep& sweep) {
  std::vector<int64_t> indices;
  std::set<std::string> seen;
  for (size_t i = 0; i < sweep.planned.size(); ++i) {
    const std::string& id = sweep.planned[i].run.id;
    if (seen.insert(id).second && is_open(state_of(sweep.directory, id)))
      indices.push_back(static_cast<int64_t>(i));
  }
  return indices;
}

std::vector<std::string> sbatch_command(const SlurmArray& array, const fs::path& script) {
  return {"sbatch", "--parsable", "--array=" + array.tasks, script.string(), std::to_string(array.first)};
}

/// What to type for these arrays.
std::string by_hand(const std::vector<SlurmArray>& arrays, size_t from, const fs::path& script) {
  std::vector<std::string> lines;
  for (size_t i = from; i < arrays.size(); ++i) {
    lines.push_back(
        fmt::format("sbatch --array={} {} {}", arrays[i].tasks, quote(script.string()), arrays[i].first));
  }
  return join(lines, "; ");
}

/// Slurm's own default.
constexpr int64_t kUsualArrayLimit = 1001;

/// MaxArraySize. A task's number is below it.
int64_t array_limit(const ProcessResult& config) {
  for (const std::string& line : split(config.output, '\n')) {
    if (!line.starts_with("MaxArraySize")) continue;
    std::string number = line.substr(line.find('=') + 1);
    number.erase(std::remove(number.begin(), number.end(), ' '), number.end());
    return parse_integer(number, "MaxArraySize");
  }
  return kUsualArrayLimit;
}

/// sbatch prints "12" or "12;cluster", and may warn before or after it.
std::string job_of(const std::string& output) {
  for (const std::string& line : split(output, '\n')) {
    const std::string job = line.substr(0, line.find(';'));
    const auto is_digit = [](unsigned char letter) { return std::isdigit(letter) != 0; };
    if (!job.empty() && std::all_of(job.begin(), job.end(), is_digit)) return job;
  }
  return output;
}

std::string without_last_newline(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace

fs::path slurm_script_of(const SweepDirectory& directory) {
  return fs::absolute(directory.root) / "sweep.slurm";
}

void require_own_slurm_script(const SweepDirectory& directory) {
  const fs::path script = slurm_script_of(directory);
  require_replaceable(script, "");
  if (!fs::exists(script) || is_slurm_script(read_file(script))) return;
  throw Error("the file is not the script of a sweep",
              {"out", script.string(), "move it elsewhere, or name another directory"});
}

SlurmSubmission submit_to_slurm(const Sweep& sweep, const std::vector<std::string>& command,
                                const SlurmOptions& options) {
  const fs::path script = slurm_script_of(sweep.directory);
  write_file_atomically(script, slurm_script(sweep.spec.name, command, fs::current_path(),
                                             script.parent_path() / "logs", options));
  const std::vector<int64_t> open = open_indices(sweep);
  if (open.empty()) return {};

  const ProcessResult config = run_process({"scontrol", "show", "config"}, fs::current_path());
  if (config.exit_code != 0) {
    throw Error(
        "the script was written, but there is no Slurm that answers",
        {"scontrol", without_last_newline(config.output),
         "submit it where Slurm is: " + by_hand(split_into_arrays(open, kUsualArrayLimit), 0, script)},
        Error::kFailure);
  }
  const int64_t limit = array_limit(config);
  if (limit < 2) {
    throw Error("this Slurm allows no job arrays",
                {"MaxArraySize", std::to_string(limit), "ask for 2 or more"}, Error::kFailure);
  }
  const std::vector<SlurmArray> arrays = split_into_arrays(open, limit);
  SlurmSubmission submission;
  for (size_t i = 0; i < arrays.size(); ++i) {
    const ProcessResult submitted = run_process(sbatch_command(arrays[i], script), fs::current_path());
    if (submitted.exit_code != 0) {
      const std::string before = submission.jobs.empty()
                                     ? ""
                                     : fmt::format("; submitted before it: {}", join(submission.jobs, ", "));
      throw Error(
          fmt::format("the script was written, but Slurm refuses it{}", before),
          {"sbatch", without_last_newline(submitted.output),
           fmt::format("give other options, or submit the rest by hand: {}", by_hand(arrays, i, script))},
          Error::kFailure);
    }
    submission.jobs.push_back(job_of(submitted.output));
    submission.runs += arrays[i].runs;
  }
  return submission;
}

}  // namespace batchplus
