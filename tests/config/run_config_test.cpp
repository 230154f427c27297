#include "config/config_toml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/config_fields.h"
#include "support/expect_error.h"
#include "support/scratch.h"
#include "util/file.h"

namespace batchplus {
namespace {

using testing::expect_error;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Scratch;

RunConfig read(const std::string& toml) {
  const Scratch scratch;
  write_file_atomically(scratch / "run.toml", toml);
  RunConfig config;
  read_config_file(config, scratch / "run.toml");
  return config;
}

TEST(ConfigFile, SetsFieldsOfEveryKind) {
  const RunConfig config =
      read("method = \"nag\"\nlr = 0.5\nmomentum = 0\nepochs = 7\nouter_batch = 256\ndropout = 0.25\n");
  EXPECT_EQ(config.method, "nag");
  EXPECT_EQ(config.lr, 0.5);
  EXPECT_EQ(config.momentum, 0);
  EXPECT_EQ(config.epochs, 7);
  EXPECT_EQ(config.outer_batch, "256");
  EXPECT_EQ(config.dropout, 0.25);
}

TEST(ConfigFile, NamesLineColumnAndTheNearestKey) {
  expect_error([] { read("lr = 0.5\n  learning_rate = 1\n"); },
               {"unknown key", "run.toml:2:3", "learning_rate", "did you mean 'lr'?"});
  expect_error([] { read("batch_size = 64\n"); }, {"did you mean 'inner_batch'?"});
  expect_error([] { read("weigth_decay = 1\n"); }, {"did you mean 'weight_decay'?"});
  expect_error([] { read("lr = \"fast\"\n"); }, {"wrong type", "run.toml:1:1", "number"});
  expect_error([] { read("epochs = 2.5\n"); }, {"wrong type", "whole number"});
  expect_error([] { read("lr = \n"); }, {"not valid TOML", "run.toml:1"});
  expect_error([] { read("[train]\nlr = 1\n"); }, {"unknown key", "train"});
}

TEST(ConfigFile, ChecksRanges) {
  for (const char* wrong :
       {"lr = 0", "lr = -1", "lr = nan", "lr = inf", "inner_batch = 0", "inner_batch = -5", "epochs = 0",
        "budget_epochs = -1", "weight_decay = -0.1", "momentum = nan", "beta1 = 1", "beta2 = -0.1",
        "epsilon = 0", "label_smoothing = 1", "average = 1", "seed = -1", "eval_every = 0"}) {
    expect_error([&] { read(wrong); }, {"out of range"});
  }
  expect_error([] { read("sampling = \"epcoh\""); }, {"did you mean 'epoch'?"});
}

TEST(Config, WritesTomlThatReadsBackTheSame) {
  RunConfig config;
  config.lr = 0.1;
  config.weight_decay = 5e-4;
  config.epochs = 12;
  config.dropout = 0.5;
  config.init = "a \"quoted\" \\ path";
  const std::string toml = to_toml(config);
  EXPECT_EQ(to_toml(read(toml)), toml);
  EXPECT_EQ(read(toml).init, config.init);
  EXPECT_EQ(read(toml).weight_decay, 5e-4);
}

TEST(Kernels, AreFastUnlessNamedAndLibtorchsInARunFromBeforeTheChoice) {
  EXPECT_EQ(read("").kernels, "fast");
  EXPECT_EQ(read("kernels = \"direct\"").kernels, "direct");
  expect_error([] { read("kernels = \"atne\""); },
               {"not one of the choices", "run.toml:1:1, kernels", "atne", "did you mean 'aten'?"});
  RunConfig older = defaults_of_older_runs();
  EXPECT_EQ(older.kernels, "aten");
  parse_config(older, "kernels = \"fast\"", "config.toml");
  EXPECT_EQ(older.kernels, "fast");
}

TEST(Kernels, DecideTheResultAndLibtorchsLeaveItsTextAsBeforeTheChoice) {
  RunConfig config;
  EXPECT_THAT(result_toml(config), HasSubstr("kernels = \"fast\"\n"));
  config.kernels = "aten";
  EXPECT_THAT(to_toml(config), HasSubstr("kernels = \"aten\"\n"));
  EXPECT_THAT(result_toml(config), Not(HasSubstr("kernels")));
}

// A run that asks for nothing new has the id that it had before these keys.
TEST(ConfigFields, OfBaselinesLeaveTheIdOfRunsWithoutThem) {
  const std::string text = result_toml(RunConfig());
  for (const char* key :
       {"beta1", "beta2", "epsilon", "label_smoothing", "average", "cutout", "mixup", "local_batch_norm"}) {
    EXPECT_THAT(text, Not(HasSubstr(std::string(key) + " ="))) << key;
  }
  RunConfig config;
  config.label_smoothing = 0.1;
  EXPECT_THAT(result_toml(config), HasSubstr("label_smoothing = 0.1\n"));
}

TEST(ConfigFields, AreAllInTheDictionaryOfTheFuzzer) {
  const std::string words = read_file(BATCHPLUS_SOURCE_DIR "/tests/fuzz/dictionaries/toml.dict");
  for (const ConfigField& field : config_fields())
    EXPECT_THAT(words, HasSubstr("\"" + field.key + "\"\n")) << "tests/fuzz/make_corpus.py writes it";
}

TEST(ToToml, RepeatsAnyText) {
  RunConfig config;
  config.out = "a \"quoted\" \\ path\nwith a line and \x7f";
  config.method = "";
  const RunConfig again = read(to_toml(config));
  EXPECT_EQ(again.out, config.out);
  EXPECT_EQ(again.method, "");
}

}  // namespace
}  // namespace batchplus
