#include "networks/weight_file.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <optional>

#include "networks/small_cnn.h"
#include "support/damage.h"
#include "support/expect_error.h"
#include "support/fixture.h"
#include "support/scratch.h"
#include "util/file.h"

namespace batchplus {
namespace {

using testing::damage_everywhere;
using testing::DamageTally;
using testing::expect_error;
using testing::fixture;
using testing::Scratch;

std::shared_ptr<SmallCnn> network() {
  return std::make_shared<SmallCnn>(
      SmallCnn::Options{.channels = 1, .side = 8, .classes = 10, .width = 2, .hidden = 4, .dropout = 0});
}

torch::Tensor find(const StateDict& state, const std::string& name) {
  for (const auto& [key, tensor] : state) {
    if (key == name) return tensor;
  }
  ADD_FAILURE() << "no " << name;
  return {};
}

TEST(StateDict, HasPyTorchsNamesInPyTorchsOrder) {
  const StateDict ours = state_dict(*network());
  const StateDict theirs = read_weights(fixture("smallcnn_plain.pt"));
  ASSERT_EQ(ours.size(), theirs.size());
  for (size_t i = 0; i < ours.size(); ++i) {
    EXPECT_EQ(ours[i].first, theirs[i].first);
    EXPECT_EQ(ours[i].second.sizes(), theirs[i].second.sizes()) << ours[i].first;
    EXPECT_EQ(ours[i].second.scalar_type(), theirs[i].second.scalar_type()) << ours[i].first;
  }
}

TEST(ReadWeights, ReadsNestedDataParallelAndOldFilesAlike) {
  auto plain = network();
  load_state_dict(*plain, read_weights(fixture("smallcnn_plain.pt")), "plain");
  for (const char* name : {"smallcnn_nested.pt", "smallcnn_data_parallel.pt", "smallcnn_legacy.pth",
                           "smallcnn_torch_0.3.pth", "smallcnn_python_2.pth"}) {
    auto other = network();
    load_state_dict(*other, read_weights(fixture(name)), name);
    for (const auto& item : plain->named_parameters()) {
      EXPECT_TRUE(other->named_parameters()[item.key()].equal(item.value())) << name << " " << item.key();
    }
    EXPECT_TRUE(other->named_buffers()["bn1.running_var"].equal(plain->named_buffers()["bn1.running_var"]));
  }
}

TEST(ReadWeights, RebuildsViewsOfALargerStorage) {
  const StateDict state = read_weights(fixture("views.pt"));
  const torch::Tensor base = torch::arange(24, torch::kFloat32).view({4, 6});
  EXPECT_TRUE(find(state, "slice").equal(base.slice(0, 1, 3).slice(1, 0, 6, 2)));
  EXPECT_TRUE(find(state, "transposed").equal(base.t()));
  EXPECT_TRUE(find(state, "half").equal(base.to(torch::kFloat16)));
  EXPECT_EQ(find(state, "scalar").item<float>(), 2.5F);
}

TEST(ReadWeights, TurnsTheBytesOfABigEndianFileRound) {
  const StateDict plain = read_weights(fixture("smallcnn_plain.pt"));
  const StateDict turned = read_weights(fixture("smallcnn_big_endian.pt"));
  ASSERT_EQ(turned.size(), plain.size());
  for (const auto& [name, tensor] : plain) EXPECT_TRUE(find(turned, name).equal(tensor)) << name;
  expect_error([] { read_weights(fixture("smallcnn_odd_endian.pt")); }, {"byte order", "middle"});
}

TEST(ReadWeights, MindsTheNegativeBitAndRefusesTheConjugateOne) {
  const StateDictFile file = read_weight_file(fixture("flagged.pt"));
  EXPECT_EQ(file.unknown.at("conjugate"), "torch._utils._rebuild_tensor_v2 with metadata");
  const StateDict state = to_tensors(file);
  const torch::Tensor base = torch::arange(24, torch::kFloat32).view({4, 6});
  EXPECT_TRUE(find(state, "negated").equal(-base.slice(0, 1, 3).slice(1, 0, 6, 2)));
  EXPECT_TRUE(find(state, "without").equal(base[0]));
  EXPECT_TRUE(find(state, "plain").equal(base[0]));
}

// As torch.tensor(2.5).expand(2, 3) is saved: a single element, in strides of nothing.
TEST(ReadWeights, RepeatsTheElementOfAnExpandedTensor) {
  const float element = 2.5F;
  const StateDict state =
      to_tensors({.storages = {{"0", std::string(reinterpret_cast<const char*>(&element), sizeof element)}},
                  .tensors = {{.name = "expanded", .storage = "0", .sizes = {2, 3}, .strides = {0, 0}}},
                  .unknown = {}});
  EXPECT_TRUE(find(state, "expanded").equal(torch::full({2, 3}, 2.5)));
  EXPECT_TRUE(find(state, "expanded").is_contiguous());
}

TEST(ReadWeights, RefusesAWholeModelWithoutRunningIt) {
  expect_error([] { read_weights(fixture("whole_model.pt")); }, {"state_dict"});
}

TEST(LoadWeights, NamesTheConstructorThatItDoesNotUnderstand) {
  auto module = network();
  const std::string before = weights_sha256(state_dict(*module));
  const auto load = [&] {
    load_weights(*module, read_weight_file(fixture("smallcnn_quantized.pt")), "file.pt");
  };
  expect_error(load, {"file.pt", "fc1.weight, fc2.weight made by torch._utils._rebuild_qtensor",
                      "not understood", "torch.save(model.state_dict(), file)"});
  EXPECT_EQ(weights_sha256(state_dict(*module)), before);
}

TEST(LoadWeights, PassesOverWhatTheNetworkDoesNotNeed) {
  const auto module = network();
  const Scratch scratch;
  write_weights(scratch / "w.pt", state_dict(*module));
  StateDictFile file = read_weight_file(scratch / "w.pt");
  file.unknown = {{"module.args", "argparse.Namespace"}, {"bn1.num_batches_tracked", "numpy.int64"}};
  std::erase_if(file.tensors,
                [](const StoredTensor& tensor) { return tensor.name == "bn1.num_batches_tracked"; });
  EXPECT_NO_THROW(load_weights(*module, file, "w.pt"));
}

TEST(LoadWeights, RefusesWhatIsNotFinite) {
  const Scratch scratch;
  const auto damaged = network();
  {
    const torch::NoGradGuard no_grad;
    damaged->named_parameters()["fc1.bias"][1] = std::nan("");
    damaged->named_buffers()["bn1.running_var"].fill_(INFINITY);
  }
  write_weights(scratch / "w.pt", state_dict(*damaged));
  const auto module = network();
  const std::string before = weights_sha256(state_dict(*module));
  expect_error(
      [&] { load_weights(*module, read_weight_file(scratch / "w.pt"), "w.pt"); },
      {"NaN or infinite", "w.pt", "2 of 2 values of bn1.running_var, 1 of 4 values of fc1.bias", "diverged"});
  EXPECT_EQ(weights_sha256(state_dict(*module)), before);
}

TEST(LoadWeights, NotesThatACheckpointHasAnAverageBesideItsWeights) {
  const Scratch scratch;
  StateDict state = state_dict(*network());
  state.emplace_back("batchplus.method.momentum", torch::zeros({2}));
  write_weights(scratch / "w.pt", state);
  EXPECT_EQ(note_on_weights(read_weight_file(scratch / "w.pt")), "");
  state.emplace_back("batchplus.average.weights", torch::zeros({2}));
  write_weights(scratch / "w.pt", state);
  EXPECT_NE(note_on_weights(read_weight_file(scratch / "w.pt")).find("not their average"), std::string::npos);
}

TEST(WriteWeights, ReadsBackTheSameBits) {
  const Scratch scratch;
  const auto written = network();
  write_weights(scratch / "w.pt", state_dict(*written));
  const StateDict read = read_weights(scratch / "w.pt");
  const StateDict expected = state_dict(*written);
  ASSERT_EQ(read.size(), expected.size());
  for (size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].first, expected[i].first);
    EXPECT_TRUE(read[i].second.equal(expected[i].second));
  }
  EXPECT_EQ(weights_sha256(read), weights_sha256(expected));
}

// One walks over the file's bytes, the other over libtorch's tensors.
TEST(WeightsSha256, OfAFileIsThatOfItsTensorsHoweverTheyLieInTheirStorages) {
  for (const char* name :
       {"views.pt", "flagged.pt", "smallcnn_plain.pt", "smallcnn_legacy.pth", "smallcnn_big_endian.pt"}) {
    const std::filesystem::path path = fixture(name);
    EXPECT_EQ(weights_sha256(read_weight_file(path)), weights_sha256(read_weights(path))) << name;
  }
}

TEST(WeightsSha256, ChangesWithASingleBit) {
  const auto module = network();
  const std::string before = weights_sha256(state_dict(*module));
  const torch::NoGradGuard no_grad;
  *static_cast<uint32_t*>(module->parameters()[0].data_ptr()) ^= 1;
  EXPECT_NE(weights_sha256(state_dict(*module)), before);
}

TEST(LoadStateDict, ListsEverythingThatIsWrongAndChangesNothing) {
  auto module = network();
  const std::string before = weights_sha256(state_dict(*module));
  StateDict state;
  for (const auto& [name, tensor] : state_dict(*module)) {
    if (name == "fc1.bias") continue;
    state.emplace_back(name, name == "conv1.weight" ? torch::zeros({1, 2, 3}) : torch::zeros_like(tensor));
  }
  state.emplace_back("extra.weight", torch::zeros({1}));
  expect_error([&] { load_state_dict(*module, state, "file.pt"); },
               {"file.pt", "missing fc1.bias", "unexpected extra.weight",
                "conv1.weight has shape [1,2,3] instead of [2,1,3,3]"});
  EXPECT_EQ(weights_sha256(state_dict(*module)), before);
}

TEST(LoadStateDict, SaysTheFirstFewOfEachSortAndHowManyMore) {
  const auto module = network();
  const size_t parameters = module->parameters().size();
  StateDict state;
  for (int i = 0; i < 5; ++i) state.emplace_back("extra." + std::to_string(i), torch::zeros({1}));
  try {
    load_state_dict(*module, state, "file.pt");
    FAIL() << "an Error was expected";
  } catch (const Error& problem) {
    // Parameters and, of three BatchNorms, two statistics each.
    EXPECT_EQ(problem.details().value, "missing conv1.weight, bn1.weight, bn1.bias and " +
                                           std::to_string(parameters + 6 - 3) +
                                           " more; unexpected extra.0, extra.1, extra.2 and 2 more");
  }
}

TEST(ReadWeights, RefusesEveryTruncationOfAFile) {
  const Scratch scratch;
  for (const char* name : {"smallcnn_plain.pt", "smallcnn_legacy.pth", "smallcnn_torch_0.3.pth"}) {
    const std::string whole = read_file(fixture(name));
    for (size_t size = 0; size < whole.size(); size += 97) {
      write_file_atomically(scratch / "cut.pt", whole.substr(0, size));
      EXPECT_THROW(read_weights(scratch / "cut.pt"), Error) << name << " " << size;
    }
  }
}

/// Numbers that differ; nothing when names or shapes do.
std::optional<int64_t> changed_numbers(const StateDict& a, const StateDict& b) {
  if (a.size() != b.size()) return std::nullopt;
  int64_t changed = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].first != b[i].first || a[i].second.sizes() != b[i].second.sizes()) return std::nullopt;
    changed += a[i].second.ne(b[i].second).sum().item<int64_t>();
  }
  return changed;
}

// Not every byte, for the sake of time; the odd step meets every byte of a number.
constexpr size_t kDamageStride = 7;

/// How many damages at least turn over bits of a number, with three for each byte.
int64_t least_damaged_numbers(const StateDict& state) {
  int64_t bytes = 0;
  for (const auto& [name, tensor] : state) bytes += tensor.nbytes() / kDamageStride;
  return 3 * bytes;
}

// A zip archive has checksums of what it holds, though not of its own headers and padding.
TEST(ReadWeights, NoticesEveryDamageToAZipArchiveThatMatters) {
  const Scratch scratch;
  const std::filesystem::path file = scratch / "damaged.pt";
  std::filesystem::copy_file(fixture("smallcnn_plain.pt"), file);
  const StateDict good = read_weights(file);
  const DamageTally tally = damage_everywhere(
      file, kDamageStride, [&] { EXPECT_EQ(changed_numbers(read_weights(file), good), 0); });
  EXPECT_EQ(tally.cut.harmless, 0);
  EXPECT_GE(tally.turned.noticed, least_damaged_numbers(good));
  EXPECT_GT(tally.turned.harmless, 0);
}

// torch's older format has no checksum: a number that was damaged is read as another one, and nothing else
// may come of it than an Error or another name or shape.
TEST(ReadWeights, ReadsOneOtherNumberWhereAnOldFileIsDamaged) {
  const Scratch scratch;
  const std::filesystem::path file = scratch / "damaged.pth";
  std::filesystem::copy_file(fixture("smallcnn_legacy.pth"), file);
  const StateDict good = read_weights(file);
  int64_t one_other = 0;
  const DamageTally tally = damage_everywhere(
      file, kDamageStride, [&] { one_other += changed_numbers(read_weights(file), good) == 1 ? 1 : 0; });
  EXPECT_EQ(tally.cut.harmless, 0);
  EXPECT_GE(one_other, least_damaged_numbers(good));
  EXPECT_GT(tally.turned.noticed, 0);
}

}  // namespace
}  // namespace batchplus
