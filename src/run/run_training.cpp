#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <numeric>

#include "checkpoint/storage.h"
#include "config/compare_configs.h"
#include "config/config_toml.h"
#include "kernels/revision.h"
#include "networks/weight_file.h"
#include "run/extension.h"
#include "run/memory_estimate.h"
#include "run/provenance.h"
#include "run/run.h"
#include "run/run_group.h"
#include "run/unread_keys.h"
#include "util/error.h"
#include "util/file.h"

namespace batchplus {
namespace {

/// Computes with so many threads until the end of the scope; 0: with those that are set.
class ThreadCount {
 public:
  explicit ThreadCount(int threads) : before_(at::get_num_threads()) {
    if (threads > 0) at::set_num_threads(threads);
  }
  ~ThreadCount() { at::set_num_threads(before_); }
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  int before_;
};

/// What only makes sense with a run directory.
void require_directory(const RunConfig& config, const RunEnvironment& environment) {
  if (!config.out.empty()) return;
  if (environment.has_tensorboard) {
    throw Error("event files go into a run directory", {"tensorboard", "", "name one with {out}"});
  }
  if (environment.is_resuming) {
    throw Error("only a run with a directory can be resumed", {"resume", "", "name it with {out}"});
  }
}

/// The plan for what was loaded. It is the one that was made before, unless the files are not what the row of
/// the table says.
RunPlan plan_for(const Dataset& dataset, const RunConfig& config, RunPlan planned) {
  const DatasetInfo& expected = planned.data.dataset;
  DatasetInfo loaded = describe(expected, dataset);
  const bool is_as_expected = loaded.train_samples == expected.train_samples &&
                              loaded.normalization.mean == expected.normalization.mean &&
                              loaded.normalization.std == expected.normalization.std;
  return is_as_expected ? std::move(planned) : resolve(config, loaded);
}

/// A run directory to go on with.
struct Earlier {
  RunWriter writer;
  Continuation continuation;
};

std::optional<Earlier> open_earlier(const RunConfig& config, const RunEnvironment& environment) {
  if (!environment.is_resuming) return std::nullopt;
  if (!RunLayout{config.out}.holds_run()) {
    if (!environment.is_extending) return std::nullopt;
    throw Error("there is no run to extend", {"out", config.out, "name the directory of a run"});
  }
  RunWriter writer(config.out);
  Continuation continuation =
      read_continuation(writer.layout(), environment.is_extending ? Ended::kCheckpointToo : Ended::kResult);
  return Earlier{std::move(writer), std::move(continuation)};
}

/// A run that began with other kernels would end with the bits of neither.
void require_revision(const RunPlan& plan) {
  const int64_t revision = plan.complete.kernels_revision;
  if (plan.network.kernels == Kernels::kAten || revision == kernels::kRevision) return;
  throw Error(
      "own kernels give other bits than those that the run began with",
      {"kernels_revision", std::to_string(revision),
       fmt::format("this program has revision {}: begin the run anew in another directory, or go on with "
                   "the version of the program that began it",
                   kernels::kRevision)});
}

/// Parts of the data that lack classes, because they were taken in file order.
std::vector<std::string> notes_on_file_order(const ViewOptions& options, const RunData& data) {
  std::vector<std::string> notes;
  if (!options.is_sequential) return notes;
  const auto look = [&](const ImageView& part, const ImageSet& set, const char* name) {
    ImageView whole{set, std::vector<int64_t>(static_cast<size_t>(set.size()))};
    std::iota(whole.indices.begin(), whole.indices.end(), int64_t{0});
    if (std::string note = note_on_file_order(part, whole, name); !note.empty())
      notes.push_back(std::move(note));
  };
  look(data.views.train, data.dataset.train, "the training set has");
  look(data.views.validation, data.dataset.train, "the validation set has");
  look(data.views.test, data.dataset.test, "the test set has");
  return notes;
}

void tell(const Continuation& earlier, const std::vector<std::string>& differences, Run& run) {
  for (const auto* notes : {&earlier.notes, &differences}) {
    for (const std::string& note : *notes) run.progress().print_line("note: " + note);
  }
  run.progress().print_line(fmt::format("resumed after {:.4g} epochs", run.epochs_done()));
}

/// What to know of the file that the run begins with, if there is one.
std::string note_on_initial_weights(const std::string& init) {
  return init.empty() ? "" : note_on_weights(read_weight_file(init));
}

/// A config.toml without a run is replaced if a process that was killed before the run began left it: it says
/// all that this run's will. Another one is somebody's own.
RunWriter::Leftover leftover_in(const RunLayout& layout, const RunConfig& complete,
                                const RunEnvironment& environment) {
  using Leftover = RunWriter::Leftover;
  if (!environment.is_resuming || !std::filesystem::exists(layout.config())) return Leftover::kRefuse;
  const RunConfig left = parse_run_config(read_file(layout.config()), layout.config().string());
  return find_differences(result_values(complete), left).empty() ? Leftover::kReplace : Leftover::kRefuse;
}

/// An Error of a run that had begun: the input was fine, and what was saved is still there.
Error after_start(const Error& problem, const RunWriter* writer) {
  Error::Details details = problem.details();
  if (writer != nullptr) {
    details.hint += fmt::format("{}what was saved is intact: go on with {{resume}} {{out}} {}",
                                details.hint.empty() ? "" : "; ", writer->layout().root.string());
  }
  return Error(problem.summary(), details, Error::kFailure);
}

}  // namespace

RunOutcome run_training(const RunConfig& config, const RunEnvironment& environment) {
  RunPlan planned = resolve(config, find_dataset(config.dataset));
  require_directory(config, environment);
  require_read(planned, environment.given_keys);
  Group* group = environment.sharing.group;
  require_processes_of_moments(config, group);
  const bool has_directory = group == nullptr || group->rank() == 0;
  std::optional<Earlier> earlier = has_directory ? open_earlier(config, environment) : std::nullopt;
  // The bits of libtorch's kernels depend on the number of threads.
  const bool takes_threads = earlier && environment.threads == 0 && planned.network.kernels == Kernels::kAten;
  const ThreadCount threads(takes_threads ? earlier->continuation.threads : 0);

  require_memory(planned);
  const Dataset dataset = load_dataset(config, planned.data.dataset);
  const RunPlan plan = plan_for(dataset, config, std::move(planned));
  const RunData data{dataset, make_views(dataset, plan.data.views)};
  bool is_extended = false;
  if (earlier) {
    Continuation& continuation = earlier->continuation;
    if (environment.is_extending) is_extended = extend(plan, earlier->writer.layout(), continuation);
    require_same_run(plan.complete, fingerprint(data.views.train), continuation, earlier->writer.layout());
  }
  const Json inputs = digest_inputs(data.views, plan.network.init);
  if (earlier && earlier->continuation.result.is_null()) {
    require_same_inputs(recorded_inputs(earlier->writer.layout()), inputs, plan.complete,
                        "restore the files, or begin anew in another directory");
  }
  Beginning beginning;
  if (earlier) beginning = {earlier->continuation.result, earlier->continuation.checkpoint};
  if (group != nullptr) {
    agree_on_run(*group, plan, inputs, environment.sharing.sums);
    beginning = share(*group, std::move(beginning));
  }
  if (!beginning.result.is_null()) {
    const bool is_diverged = beginning.result["status"] == "diverged";
    const std::string& copy = plan.complete.save_weights;
    if (earlier && !is_diverged && !copy.empty())
      write_file_atomically(copy, read_file(earlier->writer.layout().weights()));
    return {beginning.result, is_diverged};
  }

  require_revision(plan);
  Run run(plan, data, environment);
  std::optional<RunWriter> writer;
  const std::string config_toml = to_toml(plan.complete);
  Json about_us = provenance(plan, environment);
  about_us["data"] = dataset.verified;
  about_us[kInputs] = inputs;
  if (const std::string note = note_on_initial_weights(plan.network.init); !note.empty()) {
    about_us["init_note"] = note;
    run.progress().print_line("note: " + note);
  }
  for (const std::string& note : notes_on_file_order(plan.data.views, data))
    run.progress().print_line("note: " + note);
  if (beginning.checkpoint) run.restore(*beginning.checkpoint, RunLayout{config.out}.checkpoint().string());
  if (earlier) {
    const Continuation& continuation = earlier->continuation;
    const RunLayout& layout = earlier->writer.layout();
    const bool has_own_kernels = plan.network.kernels != Kernels::kAten;
    tell(continuation, describe_differences(layout, about_us, has_own_kernels), run);
    writer.emplace(std::move(earlier->writer));
    if (is_extended) {
      save_checkpoint(writer->layout(), *continuation.checkpoint);
      writer->drop_status();
    }
    writer->resume(config_toml, about_us, continuation.records);
  } else if (has_directory && !config.out.empty()) {
    const auto leftover = leftover_in(RunLayout{config.out}, plan.complete, environment);
    writer.emplace(config.out, config_toml, about_us, leftover);
  }
  RunWriter* directory = writer ? &*writer : nullptr;
  try {
    return run.train(directory);
  } catch (const Error& problem) {
    throw after_start(problem, directory);
  }
}

}  // namespace batchplus
