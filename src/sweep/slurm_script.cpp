#include "sweep/slurm_script.h"

#include <fmt/format.h>

#include "util/error.h"
#include "util/text.h"

namespace batchplus {
namespace {

/// How every script begins.
constexpr const char* kBeginning =
    "#!/bin/sh\n"
    "# sbatch --array=TASKS SCRIPT FIRST: a task runs the run FIRST and its own number, counted from 0.\n";

/// A line of the script; what no line can hold is an Error.
std::string directive(const std::string& option) {
  if (option.find('\n') != std::string::npos)
    throw Error("an option of sbatch has one line", {"sbatch", option, "leave the line break out"});
  return fmt::format("#SBATCH {}\n", option);
}

std::string directive(const std::string& name, const std::string& value) {
  return value.empty() ? "" : directive(fmt::format("--{}={}", name, quote(value)));
}

/// "--account=lab" with its value as one word.
std::string other_directive(const std::string& option) {
  if (!option.starts_with('-')) {
    throw Error("not an option of sbatch",
                {"sbatch", option, "give it whole, with = in front: {sbatch}=--account=lab"});
  }
  if (option.starts_with("--array")) {
    throw Error("which runs are an array's tasks is decided by the sweep",
                {"sbatch", option, "leave it out; {index} runs one run alone"});
  }
  const size_t equals = option.find('=');
  if (equals == std::string::npos) return directive(option);
  return directive(option.substr(0, equals + 1) + quote(option.substr(equals + 1)));
}

/// The names of logs, by array and task. Slurm replaces what begins with a percent sign.
std::string log_pattern(const std::filesystem::path& logs) {
  std::string pattern;
  for (const char letter : logs.string()) pattern += letter == '%' ? "%%" : std::string(1, letter);
  // Slurm would leave it out, and replace nothing.
  if (pattern.find('\\') != std::string::npos)
    throw Error("Slurm cannot write into a folder of this name", {"out", logs, "one without a backslash"});
  return pattern + "/slurm-%A_%a.log";
}

}  // namespace

std::vector<SlurmArray> split_into_arrays(const std::vector<int64_t>& indices, int64_t limit) {
  std::vector<SlurmArray> arrays;
  for (size_t begin = 0; begin < indices.size();) {
    const int64_t first = indices[begin] / limit * limit;
    // A stretch of indices without a gap.
    size_t end = begin + 1;
    while (end < indices.size() && indices[end] == indices[end - 1] + 1 && indices[end] < first + limit)
      ++end;
    const int64_t from = indices[begin] - first;
    const int64_t to = indices[end - 1] - first;
    if (arrays.empty() || arrays.back().first != first) arrays.push_back({first, "", 0});
    SlurmArray& array = arrays.back();
    if (!array.tasks.empty()) array.tasks += ",";
    array.tasks += from == to ? fmt::format("{}", from) : fmt::format("{}-{}", from, to);
    array.runs += to - from + 1;
    begin = end;
  }
  return arrays;
}

std::string quote(const std::string& text) {
  // sbatch takes no backslash before a quote.
  std::string quoted = "'";
  for (const char letter : text) quoted += letter == '\'' ? "'\"'\"'" : std::string(1, letter);
  return quoted + "'";
}

bool is_slurm_script(const std::string& text) {
  return text.starts_with(kBeginning);
}

std::string slurm_script(const std::string& name, const std::vector<std::string>& command,
                         const std::filesystem::path& directory, const std::filesystem::path& logs,
                         const SlurmOptions& options) {
  std::string script = kBeginning;
  script += directive("job-name", name);
  script += directive("output", log_pattern(logs));
  // A job that is queued again writes behind what it wrote before.
  script += directive("open-mode", "append");
  script += directive("cpus-per-task", std::to_string(options.threads));
  // Two minutes before its time is over, the run is to save and to queue its job again.
  script += directive("--requeue");
  script += directive("signal", "B:TERM@120");
  script += directive("time", options.time);
  script += directive("mem", options.memory);
  script += directive("partition", options.partition);
  for (const std::string& option : options.others) script += other_directive(option);
  std::vector<std::string> words;
  for (const std::string& word : command) words.push_back(quote(word));
  // The signal is for the script's process: it becomes the program's.
  return script + fmt::format("cd {} || exit\nexec {} \"$((${{1:-0}} + SLURM_ARRAY_TASK_ID))\"\n",
                              quote(directory.string()), join(words, " "));
}

}  // namespace batchplus
