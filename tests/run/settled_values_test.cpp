#include "run/settled_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run/run_plan.h"
#include "support/expect_error.h"

namespace batchplus {
namespace {

using ::testing::ElementsAre;
using testing::expect_error;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// As config.toml of a run has it.
RunConfig of_run(const std::string& method) {
  RunConfig config;
  config.method = method;
  config.inner_batch = 20;
  return resolve(config, find_dataset(config.dataset)).complete;
}

TEST(SettledValues, OfAnotherMethodAreRefused) {
  const auto change = [](const std::string& from, const std::string& to,
                         const std::vector<std::string>& given) {
    const RunConfig file = of_run(from);
    RunConfig asked = file;
    asked.method = to;
    return note_settled_values(file, asked, given);
  };
  expect_error([&] { change("bp-svrg", "b-svrg", {"method"}); },
               {"another method, bp-svrg", "b-svrg, and of the file coefficient = 1", "own: coefficient -1"});
  EXPECT_THAT(change("bp-svrg", "b-svrg", {"method", "coefficient"}), IsEmpty()) << "somebody gave it";
  expect_error([&] { change("sgd", "bp-svrg", {"method"}); }, {"outer_batch = 20", "own: outer_batch 40"});
  expect_error([&] { change("sgd", "nag", {"method"}); }, {"update_rule = plain", "update_rule nesterov"});
  expect_error([&] { change("adamw", "sgd", {"method"}); }, {"update_rule = adamw", "update_rule plain"});
  expect_error([&] { change("bp-svrg", "sgd", {"method"}); }, {"coefficient = 1", "coefficient has none"});
  EXPECT_THAT(change("bp-svrg", "bp-svrg", {"method"}), IsEmpty());
}

TEST(SettledValues, OfAFileThatLeavesThemOpenAreTheNewMethods) {
  RunConfig file;
  file.method = "bp-svrg";
  file.outer_batch = "2x";
  RunConfig asked = file;
  asked.method = "b-svrg";
  EXPECT_THAT(note_settled_values(file, asked, {"method"}), IsEmpty());
}

TEST(SettledValues, OfAnotherBatchOrDatasetAreNoted) {
  const RunConfig file = of_run("bp-svrg");
  RunConfig asked = file;
  asked.inner_batch = 30;
  EXPECT_THAT(note_settled_values(file, asked, {"inner_batch"}),
              ElementsAre(HasSubstr("outer_batch = 40 stays, so that K is 1 and not 2")));
  EXPECT_THAT(note_settled_values(file, asked, {"inner_batch", "outer_batch"}), IsEmpty());
  asked = file;
  asked.dataset = "cifar10";
  EXPECT_THAT(note_settled_values(file, asked, {"dataset"}),
              ElementsAre(HasSubstr("normalize = 0.5"),
                          HasSubstr("augment = none stays; cifar10's own is standard")));
}

}  // namespace
}  // namespace batchplus
