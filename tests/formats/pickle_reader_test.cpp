#include "formats/pickle_reader.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>

#include "support/expect_error.h"
#include "util/text.h"

namespace batchplus {
namespace {

using testing::expect_error;

std::string pickled_number(int32_t value) {
  return std::string(1, 'J') + std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string pickled_text(const std::string& value) {
  const auto length = static_cast<uint32_t>(value.size());
  return std::string(1, 'X') + std::string(reinterpret_cast<const char*>(&length), sizeof length) + value;
}

std::string pickled_tuple(const std::vector<std::string>& items) {
  return "(" + join(items, "") + "t";
}

/// Storage 0; `more` follows the five parts that every storage has.
std::string pickled_storage(const std::vector<std::string>& more = {},
                            const std::string& type = "FloatStorage") {
  std::vector<std::string> parts = {pickled_text("storage"), "ctorch\n" + type + "\n", pickled_text("0"),
                                    pickled_text("cpu"), pickled_number(4)};
  parts.insert(parts.end(), more.begin(), more.end());
  return pickled_tuple(parts) + "Q";
}

std::string pickled_call(const std::string& module, const std::string& name,
                         const std::vector<std::string>& arguments) {
  return "c" + module + "\n" + name + "\n" + pickled_tuple(arguments) + "R";
}

/// _rebuild_tensor_v2(storage, offset, (size,), (stride,), False, None)
std::string pickled_tensor(int32_t offset, int32_t size, int32_t stride,
                           const std::string& storage = pickled_storage()) {
  return pickled_call("torch._utils", "_rebuild_tensor_v2",
                      {storage, pickled_number(offset), pickled_tuple({pickled_number(size)}),
                       pickled_tuple({pickled_number(stride)}), "\x89", "N"});
}

std::string pickled_dict(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string dict = "}(";
  for (const auto& [key, value] : entries) dict += pickled_text(key) + value;
  return dict + "u";
}

std::string pickle_of(const std::string& value) {
  return "\x80\x02" + value + ".";
}

std::string pickle_of(int32_t offset, int32_t size, int32_t stride) {
  return pickle_of(pickled_dict({{"w", pickled_tensor(offset, size, stride)}}));
}

std::vector<StoredTensor> read_pickled_state_dict(const std::string& pickle, const StorageSizes& storages,
                                                  const std::string& where) {
  const auto tensors = PickleReader(pickle, where).read_state_dict().tensors;
  require_within_storages(tensors, storages, where);
  return tensors;
}

TEST(PickleReader, RefusesTensorsThatReachBeyondTheirStorage) {
  EXPECT_EQ(read_pickled_state_dict(pickle_of(1, 3, 1), {{"0", 16}}, "x").front().sizes,
            (std::vector<int64_t>{3}));
  for (const auto& [offset, size, stride] : std::vector<std::array<int32_t, 3>>{
           {2, 3, 1}, {0, 5, 1}, {0, 4, 2}, {-1, 2, 1}, {0, -1, 1}, {0, 2, -1}, {5, 0, 1}}) {
    expect_error(
        [&, o = offset, s = size, st = stride] {
          read_pickled_state_dict(pickle_of(o, s, st), {{"0", 16}}, "x");
        },
        {"does not fit its storage"});
  }
  EXPECT_EQ(read_pickled_state_dict(pickle_of(4, 0, 12), {{"0", 16}}, "x").front().sizes,
            (std::vector<int64_t>{0}))
      << "an empty tensor's strides do not matter";
  expect_error([] { read_pickled_state_dict(pickle_of(0, 1, 1), {}, "x"); }, {"storage '0' is missing"});
}

TEST(PickleReader, TakesExpandedTensorsUnlessASmallFileBecomesALargeAllocation) {
  EXPECT_EQ(read_pickled_state_dict(pickle_of(0, 100, 0), {{"0", 4}}, "x").front().sizes,
            (std::vector<int64_t>{100}));
  expect_error(
      [] {
        read_pickled_state_dict(pickle_of(0, 2000000000, 0), {{"0", 16}}, "x");
      },
      {"claim more memory than the file has", "expand"});
  expect_error(
      [] {
        read_pickled_state_dict(pickle_of(4, 100, 0), {{"0", 16}}, "x");
      },
      {"does not fit its storage"});
}

TEST(PickleReader, ReadsTensorsAsTorchBefore0Point4DescribesThem) {
  const std::string tensor =
      pickled_call("torch._utils", "_rebuild_tensor",
                   {pickled_storage({"N"}), pickled_number(1), pickled_tuple({pickled_number(3)}),
                    pickled_tuple({pickled_number(1)})});
  const auto tensors = read_pickled_state_dict(pickle_of(pickled_dict({{"w", tensor}})), {{"0", 16}}, "x");
  ASSERT_EQ(tensors.size(), 1);
  EXPECT_EQ(tensors[0].name, "w");
  EXPECT_EQ(tensors[0].offset, 1);
  EXPECT_EQ(tensors[0].sizes, (std::vector<int64_t>{3}));
  EXPECT_EQ(tensors[0].strides, (std::vector<int64_t>{1}));
}

TEST(PickleReader, ReadsWrappedTensors) {
  const std::string tensor = pickled_tensor(1, 3, 1);
  // Before 0.4: the tensor alone, then (requires_grad, volatile, hooks) as the object's state.
  const std::string state = pickled_tuple({"\x88", "\x89", "N"}) + "b";
  for (const std::string& wrapped :
       {pickled_call("torch.nn.parameter", "Parameter", {tensor}) + state,
        pickled_call("torch.autograd.variable", "Variable", {tensor}) + state,
        pickled_call("torch.nn.parameter", "Parameter", {tensor, "\x88"}),
        pickled_call("torch._utils", "_rebuild_parameter", {tensor, "\x88", "}"})}) {
    const auto tensors = read_pickled_state_dict(pickle_of(pickled_dict({{"w", wrapped}})), {{"0", 16}}, "x");
    ASSERT_EQ(tensors.size(), 1) << wrapped;
    EXPECT_EQ(tensors[0].offset, 1);
  }
}

TEST(PickleReader, CountsOffsetsFromTheStoragesViewWhereItIsOne) {
  // Storages may be parts of others: (key, first element, elements).
  const auto with_view = [](const std::string& first) {
    const std::string view = pickled_tuple({pickled_text("view"), first, pickled_number(2)});
    return pickle_of(pickled_dict({{"w", pickled_tensor(1, 1, 1, pickled_storage({view}))}}));
  };
  const auto tensors = read_pickled_state_dict(with_view(pickled_number(2)), {{"0", 16}}, "x");
  ASSERT_EQ(tensors.size(), 1);
  EXPECT_EQ(tensors[0].storage, "0");
  EXPECT_EQ(tensors[0].offset, 3);
  expect_error(
      [&] {
        read_pickled_state_dict(with_view(pickled_number(3)), {{"0", 16}}, "x");
      },
      {"does not fit its storage"});
  for (const std::string& first :
       {std::string("\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f"), pickled_number(-1)})
    expect_error([&] { read_pickled_state_dict(with_view(first), {{"0", 16}}, "x"); }, {"described wrongly"});
}

TEST(PickleReader, ReadsOrderedDictsAsPython2WritesThem) {
  // OrderedDict([["a", tensor], ["b", tensor]]) with short byte strings.
  const auto pair = [](const std::string& key) {
    return "](" + std::string("U\x01") + key + pickled_tensor(0, 4, 1) + "e";
  };
  const std::string dict =
      pickled_call("collections", "OrderedDict", {"](" + pair("a") + pair("b") + "e"}) + "}b";
  const auto tensors = read_pickled_state_dict(pickle_of(dict), {{"0", 16}}, "x");
  ASSERT_EQ(tensors.size(), 2);
  EXPECT_EQ(tensors[0].name, "a");
  EXPECT_EQ(tensors[1].name, "b");
}

TEST(PickleReader, CallsNothingThatTheFileNames) {
  // What pickle.loads would run as os.system("touch hacked").
  const std::string pickle =
      pickle_of(pickled_dict({{"a", pickled_call("os", "system", {pickled_text("touch hacked")})}}));
  const PickledStateDict state = PickleReader(pickle, "x").read_state_dict();
  EXPECT_TRUE(state.tensors.empty());
  EXPECT_EQ(state.unknown, (UnknownValues{{"a", "os.system"}}));
  EXPECT_FALSE(std::filesystem::exists("hacked"));
}

TEST(PickleReader, NamesWhatItDoesNotUnderstandInTheStateDictAlone) {
  const std::string scalar = pickled_call("numpy.core.multiarray", "scalar", {"N"}) + "}b";
  const std::string quantized =
      pickled_call("torch._utils", "_rebuild_qtensor", {pickled_storage({}, "QInt8Storage"), "N"});
  const std::string complex = pickled_tensor(0, 1, 1, pickled_storage({}, "ComplexFloatStorage"));
  const std::string states = pickled_dict({{"q", quantized}, {"w", pickled_tensor(0, 4, 1)}, {"c", complex}});
  const std::string pickle = pickle_of(pickled_dict(
      {{"best_prec1", scalar}, {"state_dict", states}, {"optimizer", pickled_dict({{"m", quantized}})}}));
  const PickledStateDict state = PickleReader(pickle, "x").read_state_dict();
  ASSERT_EQ(state.tensors.size(), 1);
  EXPECT_EQ(state.tensors[0].name, "w");
  EXPECT_EQ(state.unknown,
            (UnknownValues{{"q", "torch._utils._rebuild_qtensor"}, {"c", "torch.ComplexFloatStorage"}}));
}

TEST(PickleReader, NamesTheConstructorOfWhatIsNoDictionary) {
  const std::string object = pickled_call("my.module", "Net", {}) + "}b";
  expect_error([&] { read_pickled_state_dict(pickle_of(object), {}, "x"); },
               {"does not hold a dictionary", "my.module.Net"});
  expect_error(
      [&] {
        read_pickled_state_dict(pickle_of(pickled_dict({{"state_dict", object}})), {}, "x");
      },
      {"does not hold a dictionary", "my.module.Net"});
}

TEST(PickleReader, RefusesAWholeModelOfAnOldFileByItsClass) {
  const std::string model = pickled_tuple({pickled_text("module"), "cmy.module\nNet\n",
                                           pickled_text("net.py"), pickled_text("class Net: pass")}) +
                            "Q)\x81}b";
  expect_error([&] { read_pickled_state_dict(pickle_of(model), {}, "x"); },
               {"does not hold a dictionary", "my.module.Net"});
}

TEST(PickleReader, ReplacesAValueWhoseKeyComesAgain) {
  const std::string unknown = pickled_call("my.module", "Tensor", {});
  const std::string tensor = pickled_tensor(0, 4, 1);
  const auto read = [&](const std::string& first, const std::string& second) {
    return PickleReader(pickle_of(pickled_dict({{"w", first}, {"w", second}})), "x").read_state_dict();
  };
  EXPECT_EQ(read(unknown, tensor).tensors.size(), 1);
  EXPECT_TRUE(read(unknown, tensor).unknown.empty());
  EXPECT_TRUE(read(tensor, unknown).tensors.empty());
  EXPECT_EQ(read(tensor, unknown).unknown.size(), 1);
}

TEST(PickleReader, SurvivesDeepNestingAndCycles) {
  std::string deep = "\x80\x02";
  for (int i = 0; i < 200000; ++i) deep += ']';
  for (int i = 0; i < 199999; ++i) deep += 'a';
  expect_error([&] { read_pickled_state_dict(deep + ".", {}, "x"); }, {"dictionary"});
  const std::string cycle = std::string("\x80\x02}q\x07") + pickled_text("a") + "h\x07s.";
  EXPECT_TRUE(read_pickled_state_dict(cycle, {}, "x").empty());
}

TEST(PickleReader, RefusesNonsense) {
  for (const std::string& nonsense :
       {std::string(), std::string("."), std::string("\x80\x02t."), std::string("hello"),
        std::string("\x80\x02}(u"), std::string("h\x05."), std::string("R."), std::string("Q.")}) {
    EXPECT_THROW(read_pickled_state_dict(nonsense, {}, "x"), Error) << nonsense;
  }
}

TEST(PickleReader, CountsATensorUnderEveryName) {
  // {"w": t, "0": t, ... "4": t}: six times a storage of a mebibyte.
  constexpr int32_t kElements = 1 << 18;
  std::string pickle = pickle_of(0, kElements, 1);
  pickle.resize(pickle.size() - 2);  // without the end of the dictionary and of the pickle
  pickle += "q" + std::string(1, '\x07');
  for (int i = 0; i < 5; ++i) pickle += pickled_text(std::to_string(i)) + "h" + std::string(1, '\x07');
  expect_error(
      [&] {
        read_pickled_state_dict(pickle + "u.", {{"0", 4 * kElements}}, "x");
      },
      {"claim more memory"});
}

}  // namespace
}  // namespace batchplus
