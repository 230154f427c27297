#include "checkpoint/storage.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <fstream>

#include "networks/weight_file.h"
#include "support/damage.h"
#include "support/expect_error.h"
#include "support/rig.h"
#include "support/scratch.h"

namespace batchplus {
namespace {

namespace fs = std::filesystem;
using testing::damage_everywhere;
using testing::DamageTally;
using testing::expect_error;
using testing::Scratch;

/// With a value in every member.
Checkpoint small_checkpoint(int number) {
  torch::manual_seed(static_cast<uint64_t>(number));
  Checkpoint checkpoint{.identity = {.config = "lr = 0.1\n", .data = "d1", .threads = 2},
                        .records = "{\"epoch\":1}\n",
                        .spent = GradientBudget(10 * number, 20),
                        .losses = {0.1 + 0.2, 30},
                        .control_variate = {{1.5, 2.5, 3.5}, 4.5, 5.5, 6},
                        .parameter_layout = "l1"};
  checkpoint.train = {.epoch_index = number, .outer_batches = 3, .is_over = true, .best_test_accuracy = 12.5};
  checkpoint.train.last = {.epochs_done = 0.1 + 0.2,
                           .outer_steps = 4,
                           .inner_steps = 8,
                           .sample_gradients = 10 * number,
                           .learning_rate = 0.3,
                           .train_seconds = 1.25,
                           .metrics_seconds = 0.5};
  checkpoint.tensors = {
      {"conv.weight", torch::randn({2, 3, 3, 3}).contiguous(torch::MemoryFormat::ChannelsLast)},
      {"bn.num_batches_tracked", torch::tensor(int64_t{7})},
      {"batchplus.method.momentum", torch::randn({5})}};
  return checkpoint;
}

Checkpoint read_checkpoint(const fs::path& path) {
  CheckpointContents contents = read_contents(path);
  return to_checkpoint(contents.state, std::move(contents.tensors), path.string());
}

void expect_equal(const Checkpoint& a, const Checkpoint& b) {
  EXPECT_EQ(to_json(a), to_json(b));
  ASSERT_EQ(a.tensors.size(), b.tensors.size());
  for (size_t i = 0; i < a.tensors.size(); ++i) {
    EXPECT_EQ(a.tensors[i].first, b.tensors[i].first);
    EXPECT_TRUE(a.tensors[i].second.equal(b.tensors[i].second)) << a.tensors[i].first;
  }
}

void overwrite(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

TEST(CheckpointFile, ReadsBackWhatWasWrittenAndKeepsTheOneBefore) {
  const Scratch scratch;
  const RunLayout layout{scratch.path()};
  EXPECT_FALSE(load_checkpoint(layout).has_value());
  for (const int number : {1, 2, 3}) {
    save_checkpoint(layout, small_checkpoint(number));
    expect_equal(load_checkpoint(layout)->checkpoint, small_checkpoint(number));
    EXPECT_EQ(load_checkpoint(layout)->problem, "");
    if (number > 1) expect_equal(read_checkpoint(layout.previous_checkpoint()), small_checkpoint(number - 1));
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch.path()), fs::directory_iterator()), 2);
}

TEST(CheckpointFile, IsAStateDictOfTheNetwork) {
  const Scratch scratch;
  testing::Rig rig(testing::small_cnn(0));
  Checkpoint checkpoint = small_checkpoint(1);
  checkpoint.tensors = state_dict(*rig.model.module);
  checkpoint.tensors.emplace_back("batchplus.method.momentum", torch::ones({3}));
  save_checkpoint(RunLayout{scratch.path()}, checkpoint);
  torch::manual_seed(2);
  testing::Rig other(testing::small_cnn(0));
  other.parameters.values().zero_();
  load_state_dict(*other.model.module, read_weights(scratch / "checkpoint.pt"), "checkpoint");
  EXPECT_TRUE(other.weights().equal(rig.weights()));
}

// Every byte of a whole file, cut there or turned over: never anything but an Error or what was written.
TEST(CheckpointFile, EveryDamageIsNoticedOrHarmless) {
  const Scratch scratch;
  const RunLayout layout{scratch.path()};
  const Checkpoint good = small_checkpoint(1);
  save_checkpoint(layout, good);
  ASSERT_LT(fs::file_size(layout.checkpoint()), 20000U);
  const DamageTally tally = damage_everywhere(
      layout.checkpoint(), 1, [&] { expect_equal(read_checkpoint(layout.checkpoint()), good); });
  EXPECT_EQ(tally.cut.harmless, 0);
  // Three for each byte of the state and of the tensors; headers and padding have no checksum.
  size_t bytes = to_json(good).dump().size();
  for (const auto& [name, tensor] : good.tensors) bytes += tensor.nbytes();
  EXPECT_GE(tally.turned.noticed, static_cast<int64_t>(3 * bytes));
  EXPECT_GT(tally.turned.harmless, 0);
}

TEST(CheckpointFile, FallsBackAndSaysWhatWasWrong) {
  const Scratch scratch;
  const RunLayout layout{scratch.path()};
  save_checkpoint(layout, small_checkpoint(1));
  save_checkpoint(layout, small_checkpoint(2));
  overwrite(layout.checkpoint(), "not a checkpoint");
  const auto loaded = load_checkpoint(layout);
  expect_equal(loaded->checkpoint, small_checkpoint(1));
  EXPECT_NE(loaded->problem.find("checkpoint.pt"), std::string::npos);
  overwrite(layout.previous_checkpoint(), "nor this");
  expect_error([&] { load_checkpoint(layout); }, {"no checkpoint", "checkpoint.previous.pt"});
}

TEST(CheckpointFile, AWeightFileIsNotACheckpoint) {
  const Scratch scratch;
  write_weights(scratch / "checkpoint.pt", {{"w", torch::ones({3})}});
  expect_error([&] { read_contents(scratch / "checkpoint.pt"); }, {"no state of a run"});
}

}  // namespace
}  // namespace batchplus
