#include "formats/pickle_reader.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>

#include "support/expect_error.h"

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

/// A pickle of {"w": _rebuild_tensor_v2(storage 0, offset, (size,), (stride,), False, None)}.
std::string pickle_of(int32_t offset, int32_t size, int32_t stride) {
  return std::string("\x80\x02}(") + pickled_text("w") + "ctorch._utils\n_rebuild_tensor_v2\n((" +
         pickled_text("storage") + "ctorch\nFloatStorage\n" + pickled_text("0") + pickled_text("cpu") +
         pickled_number(4) + "tQ" + pickled_number(offset) + "(" + pickled_number(size) + "t(" +
         pickled_number(stride) + "t\x89NtRu.";
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
  for (const auto& [offset, size, stride] : std::vector<std::array<int32_t, 3>>{{2, 3, 1},
                                                                                {0, 5, 1},
                                                                                {0, 4, 2},
                                                                                {-1, 2, 1},
                                                                                {0, -1, 1},
                                                                                {0, 2, -1},
                                                                                {0, 2000000000, 0},
                                                                                {5, 0, 1}}) {
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

TEST(PickleReader, CallsNothingThatTheFileNames) {
  // What pickle.loads would run as os.system("touch hacked").
  const std::string pickle = std::string("\x80\x02}(") + pickled_text("a") + "cos\nsystem\n(" +
                             pickled_text("touch hacked") + "tRu.";
  EXPECT_TRUE(read_pickled_state_dict(pickle, {}, "x").empty());
  EXPECT_FALSE(std::filesystem::exists("hacked"));
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
  // {"w": t, "0": t, ... "4": t}: six times a storage of 16 bytes.
  std::string pickle = pickle_of(0, 4, 1);
  pickle.resize(pickle.size() - 2);  // without the end of the dictionary and of the pickle
  pickle += "q" + std::string(1, '\x07');
  for (int i = 0; i < 5; ++i) pickle += pickled_text(std::to_string(i)) + "h" + std::string(1, '\x07');
  expect_error([&] { read_pickled_state_dict(pickle + "u.", {{"0", 16}}, "x"); }, {"claim more memory"});
}

}  // namespace
}  // namespace batchplus
