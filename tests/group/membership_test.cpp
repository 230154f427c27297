#include "group/membership.h"

#include <gtest/gtest.h>

#include <map>

#include "support/expect_error.h"
#include "util/text.h"

namespace batchplus::testing {
namespace {

Environment environment(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

TEST(Membership, WithoutALauncherTheProcessIsByItself) {
  EXPECT_FALSE(find_membership(Launcher::kOwn, environment({})));
  // Slurm's and others' variables are not taken by accident.
  EXPECT_FALSE(find_membership(Launcher::kOwn, environment({{"RANK", "1"},
                                                            {"WORLD_SIZE", "2"},
                                                            {"SLURM_PROCID", "1"},
                                                            {"SLURM_NTASKS", "2"},
                                                            {"OMPI_COMM_WORLD_RANK", "1"}})));
}

TEST(Membership, ReadsTorchrun) {
  const auto membership =
      find_membership(Launcher::kOwn, environment({{"RANK", "5"},
                                                   {"WORLD_SIZE", "8"},
                                                   {"LOCAL_RANK", "1"},
                                                   {"LOCAL_WORLD_SIZE", "4"},
                                                   {"MASTER_ADDR", "head"},
                                                   {"MASTER_PORT", "29400"},
                                                   {"TORCHELASTIC_RUN_ID", "none"},
                                                   {"TORCHELASTIC_RESTART_COUNT", "2"},
                                                   {"TORCHELASTIC_USE_AGENT_STORE", "True"}}));
  ASSERT_TRUE(membership);
  EXPECT_EQ(membership->rank, 5);
  EXPECT_EQ(membership->size, 8);
  EXPECT_EQ(membership->local_rank, 1);
  EXPECT_EQ(membership->local_size, 4);
  EXPECT_EQ(membership->address, "head");
  EXPECT_EQ(membership->port, 29400);
  EXPECT_TRUE(membership->is_served);
  EXPECT_EQ(membership->attempt, "2");
}

TEST(Membership, ReadsWhatItWrites) {
  const Membership written{.rank = 2,
                           .size = 3,
                           .local_rank = 1,
                           .local_size = 2,
                           .address = "127.0.0.1",
                           .port = 4321,
                           .is_served = true,
                           .attempt = "7"};
  std::map<std::string, std::string> variables;
  for (const std::string& variable : to_variables(written)) {
    const size_t equals = variable.find('=');
    variables[variable.substr(0, equals)] = variable.substr(equals + 1);
  }
  const auto read = find_membership(Launcher::kOwn, environment(variables));
  ASSERT_TRUE(read);
  EXPECT_EQ(to_variables(*read), to_variables(written));
}

TEST(Membership, ReadsSlurmsFirstHost) {
  const std::map<std::string, std::string> variables = {
      {"SLURM_PROCID", "3"},  {"SLURM_NTASKS", "4"},         {"SLURM_LOCALID", "1"},
      {"SLURM_JOB_ID", "77"}, {"SLURM_STEP_NUM_NODES", "2"}, {"SLURM_STEP_NODELIST", "node[08-09,12]"}};
  const auto membership = find_membership(Launcher::kSlurm, environment(variables));
  ASSERT_TRUE(membership);
  EXPECT_EQ(membership->rank, 3);
  EXPECT_EQ(membership->size, 4);
  EXPECT_EQ(membership->local_size, 2);
  EXPECT_EQ(membership->address, "node08");
  auto other = variables;
  other["SLURM_STEP_NODELIST"] = "alpha,beta";
  EXPECT_EQ(find_membership(Launcher::kSlurm, environment(other))->address, "alpha");
}

TEST(Membership, ReadsOpenMpiAndMpich) {
  const auto open = find_membership(Launcher::kMpi, environment({{"OMPI_COMM_WORLD_RANK", "1"},
                                                                 {"OMPI_COMM_WORLD_SIZE", "2"},
                                                                 {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                                                 {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}}));
  EXPECT_EQ(open->rank, 1);
  EXPECT_EQ(open->address, "127.0.0.1");
  const auto mpich = find_membership(Launcher::kMpi, environment({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}}));
  EXPECT_EQ(mpich->size, 2);
  // Over several machines somebody has to say where they meet.
  expect_error(
      [] {
        find_membership(Launcher::kMpi, environment({{"OMPI_COMM_WORLD_RANK", "1"},
                                                     {"OMPI_COMM_WORLD_SIZE", "2"},
                                                     {"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}}));
      },
      {"MASTER_ADDR"});
}

TEST(Membership, RefusesWhatMakesNoSense) {
  expect_error([] { find_membership(Launcher::kSlurm, environment({})); }, {"SLURM", "srun"});
  expect_error(
      [] {
        find_membership(Launcher::kMpi, environment({{"PMI_RANK", "2"}, {"PMI_SIZE", "2"}}));
      },
      {"2 of 2"});
  expect_error([] { parse_launcher("slrum"); }, {"slurm"});
}

}  // namespace
}  // namespace batchplus::testing
