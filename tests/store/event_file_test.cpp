#include "store/event_file.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <map>
#include <optional>
#include <variant>

#include "support/event_records.h"
#include "support/expect_error.h"
#include "support/scratch.h"
#include "util/file.h"

namespace batchplus {
namespace {

using testing::fixed;
using testing::Scratch;
using testing::slow_crc32c;

// An independent reader of the messages, from the published description of protobuf's wire format.

std::vector<std::string> messages_of(const std::string& file) {
  const auto messages = testing::event_messages(file);
  EXPECT_TRUE(messages.has_value());
  return messages.value_or(std::vector<std::string>());
}

/// Field number to what the fields hold, in order: varints and fixed numbers as integers, the rest as bytes.
using Field = std::variant<uint64_t, std::string>;
std::multimap<int, Field> fields_of(std::string_view message) {
  std::multimap<int, Field> fields;
  const auto varint = [&] {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<uint8_t>(message.at(0));
      message.remove_prefix(1);
      value |= uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return value;
    }
  };
  while (!message.empty()) {
    const uint64_t key = varint();
    const int number = static_cast<int>(key >> 3);
    const size_t kind = key & 7;
    if (kind == 0) {
      fields.emplace(number, varint());
      continue;
    }
    const size_t size = kind == 1 ? 8 : kind == 5 ? 4 : varint();
    if (kind == 2) {
      fields.emplace(number, std::string(message.substr(0, size)));
    } else {
      fields.emplace(number, fixed(message, size));
    }
    message.remove_prefix(size);
  }
  return fields;
}

template <class Type>
Type only(const std::multimap<int, Field>& fields, int number) {
  EXPECT_EQ(fields.count(number), 1U) << "field " << number;
  return std::get<Type>(fields.find(number)->second);
}

TEST(EventFile, IsReadByAnIndependentParser) {
  const Scratch scratch;
  EventFile file(scratch / "events");
  file.add_scalars(0, {{"test/accuracy", 12.5}});
  file.add_scalars(390, {{"test/accuracy", 54.25}, {"train/lr", 0.1}});
  file.add_text("config", "lr = 0.1");
  EXPECT_NE(file.path().filename().string().find("tfevents"), std::string::npos)
      << "TensorBoard looks for it";

  const auto messages = messages_of(read_file(file.path()));
  ASSERT_EQ(messages.size(), 4U);
  EXPECT_EQ(only<std::string>(fields_of(messages[0]), 3), "brain.Event:2");
  for (const auto& message : messages) {
    EXPECT_GT(std::bit_cast<double>(only<uint64_t>(fields_of(message), 1)), 1.7e9) << "seconds since 1970";
  }
  const auto event = fields_of(messages[2]);
  EXPECT_EQ(only<uint64_t>(event, 2), 390U);
  const auto summary = fields_of(only<std::string>(event, 5));
  ASSERT_EQ(summary.count(1), 2U);
  std::map<std::string, float> scalars;
  for (const auto& [number, value] : summary) {
    const auto fields = fields_of(std::get<std::string>(value));
    scalars[only<std::string>(fields, 1)] =
        std::bit_cast<float>(static_cast<uint32_t>(only<uint64_t>(fields, 2)));
  }
  EXPECT_EQ(scalars, (std::map<std::string, float>{{"test/accuracy", 54.25F}, {"train/lr", 0.1F}}));

  const auto text = fields_of(only<std::string>(fields_of(only<std::string>(fields_of(messages[3]), 5)), 1));
  EXPECT_EQ(only<std::string>(text, 1), "config");
  EXPECT_EQ(only<std::string>(fields_of(only<std::string>(fields_of(only<std::string>(text, 9)), 1)), 1),
            "text");
  const auto tensor = fields_of(only<std::string>(text, 8));
  EXPECT_EQ(only<uint64_t>(tensor, 1), 7U);
  EXPECT_EQ(only<std::string>(tensor, 8), "lr = 0.1");
}

// A file of a resumed run says from which step on earlier files do not count (SessionLog, status START).
TEST(EventFile, SaysWhereAResumedRunGoesOn) {
  const Scratch scratch;
  EventFile file(scratch / "events");
  file.resume(390);
  const auto messages = messages_of(read_file(file.path()));
  ASSERT_EQ(messages.size(), 2U);
  const auto event = fields_of(messages[1]);
  EXPECT_EQ(only<uint64_t>(event, 2), 391U) << "TensorBoard drops this step and what is after it";
  EXPECT_EQ(only<uint64_t>(fields_of(only<std::string>(event, 7)), 1), 1U);
}

TEST(EventFile, DoesNotWriteThroughALink) {
  const Scratch scratch;
  std::filesystem::create_directory(scratch / "elsewhere");
  std::filesystem::create_symlink(scratch / "elsewhere", scratch / "events");
  testing::expect_error([&] { EventFile(scratch / "events"); }, {"symbolic link"});
  EXPECT_TRUE(std::filesystem::is_empty(scratch / "elsewhere"));
}

// RFC 3720, B.4: the sum of 32 zero bytes, which the reader above must get right to be worth anything.
TEST(EventFile, TheIndependentSumIsCastagnolis) {
  EXPECT_EQ(slow_crc32c(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(slow_crc32c("123456789"), 0xE3069283U);
}

}  // namespace
}  // namespace batchplus
