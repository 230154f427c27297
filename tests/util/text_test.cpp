#include "util/text.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace batchplus {
namespace {

using testing::expect_error;

TEST(NearestName, FindsAMisspelling) {
  EXPECT_EQ(nearest_name("bpsvrg", {"sgd", "b-svrg", "bp-svrg"}), "bp-svrg");
  EXPECT_EQ(nearest_name("nga", {"sgd", "nag", "momentum"}), "nag");
}

TEST(NearestName, SaysNothingWhenNothingIsNear) {
  EXPECT_EQ(nearest_name("zzzzzzzz", {"sgd", "nag"}), std::nullopt);
  EXPECT_EQ(nearest_name("x", {}), std::nullopt);
}

TEST(SuggestName, ListsAllOfAFewAndTheNearestOfMany) {
  EXPECT_EQ(suggest_name("nga", {"sgd", "nag"}), "did you mean 'nag'? (one of: sgd, nag)");
  EXPECT_EQ(suggest_name("zzzzzzzz", {"sgd", "nag"}), "one of: sgd, nag");
  std::vector<std::string> many;
  for (int i = 0; i < 45; ++i) many.push_back("key_number_" + std::to_string(i));
  many[30] = "momentum";
  EXPECT_EQ(suggest_name("momentun", many), "did you mean 'momentum'?");
  EXPECT_EQ(suggest_name("mxxxntum", many).find("key_number_44"), std::string::npos);
  EXPECT_EQ(suggest_name("mxxxxtum", many).substr(0, 45), "there are 45; the nearest are: momentum, key_");
}

TEST(NameKeys, PutsANameInPlaceOfEachKeyInBraces) {
  const auto shout = [](const std::string& key) { return "<" + key + ">"; };
  EXPECT_EQ(name_keys("name one with {out}, or {no_figures}", shout), "name one with <out>, or <no_figures>");
  EXPECT_EQ(name_keys("{", shout), "{");
  EXPECT_EQ(name_keys("{} {A} {a b} {open", shout), "{} {A} {a b} {open");
  EXPECT_EQ(name_keys("", shout), "");
}

TEST(ParseNumber, ReadsTheWholeTextOrRefuses) {
  EXPECT_EQ(parse_number("5e-4", "--lr"), 5e-4);
  EXPECT_EQ(parse_number("+1", "--lr"), 1);
  expect_error([] { parse_number("0.1x", "--lr"); }, {"not a number", "--lr", "0.1x"});
  expect_error([] { parse_number("", "--lr"); }, {"not a number"});
  expect_error([] { parse_integer("12.5", "--seed"); }, {"whole number", "12.5"});
  expect_error([] { parse_integer("99999999999999999999", "--seed"); }, {"too large"});
}

TEST(ParseBytes, KnowsBinaryMultiples) {
  EXPECT_EQ(parse_bytes("4096", "x"), 4096);
  EXPECT_EQ(parse_bytes("512M", "x"), int64_t{512} << 20);
  EXPECT_EQ(parse_bytes("1.5GiB", "x"), int64_t{3} << 29);
  EXPECT_EQ(parse_bytes("2GB", "x"), int64_t{2} << 30);
  for (const char* wrong : {"", "M", "2X", "-1", "1e30", "99999999T", "2MM"}) {
    expect_error([&] { parse_bytes(wrong, "x"); }, {"size in bytes"});
  }
}

TEST(Format, IsForPeople) {
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(12), "12 B");
  EXPECT_EQ(format_duration(75), "1m15s");
  EXPECT_EQ(format_duration(7260), "2h01m");
  EXPECT_EQ(format_duration(1.25), "1.2s");
  EXPECT_EQ(format_duration(std::numeric_limits<double>::infinity()), "?");
  EXPECT_EQ(format_count(1234567), "1,234,567");
  EXPECT_EQ(format_count(-1234), "-1,234");
  EXPECT_EQ(format_count(999), "999");
}

TEST(FormatNumber, ReadsBackAsTheSameDouble) {
  for (const double number : {0.1, 5e-4, 1.0 / 3, 1e300}) {
    EXPECT_EQ(parse_number(format_number(number), "x"), number);
  }
}

TEST(Split, KeepsEmptyParts) {
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(split("", ','), std::vector<std::string>{""});
}

}  // namespace
}  // namespace batchplus
