#include "group/membership.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>

#include "util/error.h"
#include "util/text.h"

namespace batchplus {
namespace {

/// Looks variables up.
class Variables {
 public:
  Variables(const Environment& environment, std::string launcher)
      : environment_(environment), launcher_(std::move(launcher)) {}

  std::optional<std::string> find(const std::string& name) const { return environment_(name); }
  std::string text(const std::string& name) const {
    const auto value = find(name);
    if (value) return *value;
    throw Error(fmt::format("{} has not set a variable that tells the processes apart", launcher_),
                {name, "", fmt::format("start the program with {}", launcher_)});
  }
  int number(const std::string& name) const { return static_cast<int>(parse_integer(text(name), name)); }
  int number_or(const std::string& name, int otherwise) const {
    return find(name) ? number(name) : otherwise;
  }

 private:
  const Environment& environment_;
  std::string launcher_;
};

constexpr int kFirstPort = 20000;
constexpr int kPorts = 10000;

/// "node[3-5,9],other" begins with node3.
std::string first_host(const std::string& hosts) {
  const size_t bracket = hosts.find_first_of("[,");
  if (bracket == std::string::npos || hosts[bracket] == ',') return hosts.substr(0, bracket);
  size_t end = bracket + 1;
  while (end < hosts.size() && std::isdigit(static_cast<unsigned char>(hosts[end])) != 0) ++end;
  return hosts.substr(0, bracket) + hosts.substr(bracket + 1, end - bracket - 1);
}

/// torchrun's variables, which `train --processes` sets too.
Membership from_torchrun(const Variables& variables) {
  const bool is_served = variables.find("TORCHELASTIC_USE_AGENT_STORE").value_or("False") == "True";
  return {.rank = variables.number("RANK"),
          .size = variables.number("WORLD_SIZE"),
          .local_rank = variables.number("LOCAL_RANK"),
          .local_size = variables.number("LOCAL_WORLD_SIZE"),
          .address = variables.text("MASTER_ADDR"),
          .port = variables.number("MASTER_PORT"),
          .is_served = is_served,
          .attempt = variables.find("TORCHELASTIC_RESTART_COUNT").value_or("0")};
}

Membership from_slurm(const Variables& variables) {
  // Equal for all processes of a job step, and rarely that of another one.
  const int port =
      kFirstPort + (variables.number("SLURM_JOB_ID") * 7 + variables.number_or("SLURM_STEP_ID", 0)) % kPorts;
  const int size = variables.number("SLURM_NTASKS");
  const int nodes = variables.number_or("SLURM_STEP_NUM_NODES", 1);
  const auto hosts = variables.find("SLURM_STEP_NODELIST");
  const auto address = variables.find("MASTER_ADDR");
  return {.rank = variables.number("SLURM_PROCID"),
          .size = size,
          .local_rank = variables.number("SLURM_LOCALID"),
          .local_size = nodes == 1 ? size : (size + nodes - 1) / nodes,
          .address = address ? *address : first_host(hosts ? *hosts : variables.text("SLURM_NODELIST")),
          .port = variables.number_or("MASTER_PORT", port),
          .attempt = variables.find("SLURM_RESTART_COUNT").value_or("0")};
}

/// Open MPI's variables, or those of MPICH and its kin.
Membership from_mpi(const Variables& variables) {
  const bool is_open_mpi = variables.find("OMPI_COMM_WORLD_RANK").has_value();
  Membership membership;
  membership.rank = variables.number(is_open_mpi ? "OMPI_COMM_WORLD_RANK" : "PMI_RANK");
  membership.size = variables.number(is_open_mpi ? "OMPI_COMM_WORLD_SIZE" : "PMI_SIZE");
  membership.local_rank =
      variables.number_or(is_open_mpi ? "OMPI_COMM_WORLD_LOCAL_RANK" : "MPI_LOCALRANKID", membership.rank);
  membership.local_size =
      variables.number_or(is_open_mpi ? "OMPI_COMM_WORLD_LOCAL_SIZE" : "MPI_LOCALNRANKS", membership.size);
  if (membership.local_size == membership.size) {
    // On one machine the processes have the same parent.
    membership.address = variables.find("MASTER_ADDR").value_or("127.0.0.1");
    membership.port = variables.number_or("MASTER_PORT", kFirstPort + ::getppid() % kPorts);
  } else {
    membership.address = variables.text("MASTER_ADDR");
    membership.port = variables.number("MASTER_PORT");
  }
  return membership;
}

Membership checked(Membership membership) {
  const bool is_possible = membership.size >= 1 && membership.rank >= 0 &&
                           membership.rank < membership.size && membership.local_rank >= 0 &&
                           membership.local_size >= 1;
  if (is_possible) return membership;
  throw Error("the launcher's variables make no sense",
              {"rank and size", fmt::format("{} of {}", membership.rank, membership.size),
               "ranks go from 0 to below the number of processes"});
}

}  // namespace

Launcher parse_launcher(const std::string& text) {
  if (text == "own") return Launcher::kOwn;
  if (text == "slurm") return Launcher::kSlurm;
  if (text == "mpi") return Launcher::kMpi;
  throw Error("no such launcher", {"group", text, suggest_name(text, {"slurm", "mpi"})});
}

std::optional<std::string> read_environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

std::optional<Membership> find_membership(Launcher launcher, const Environment& environment) {
  switch (launcher) {
    case Launcher::kSlurm: return checked(from_slurm(Variables(environment, "srun")));
    case Launcher::kMpi: return checked(from_mpi(Variables(environment, "mpirun")));
    case Launcher::kOwn: break;
  }
  // RANK alone may be anybody's; this one is torchrun's.
  if (!environment("TORCHELASTIC_RUN_ID")) return std::nullopt;
  return checked(from_torchrun(Variables(environment, "torchrun")));
}

std::vector<std::string> to_variables(const Membership& membership) {
  return {fmt::format("RANK={}", membership.rank),
          fmt::format("WORLD_SIZE={}", membership.size),
          fmt::format("LOCAL_RANK={}", membership.local_rank),
          fmt::format("LOCAL_WORLD_SIZE={}", membership.local_size),
          fmt::format("MASTER_ADDR={}", membership.address),
          fmt::format("MASTER_PORT={}", membership.port),
          fmt::format("TORCHELASTIC_USE_AGENT_STORE={}", membership.is_served ? "True" : "False"),
          fmt::format("TORCHELASTIC_RESTART_COUNT={}", membership.attempt),
          "TORCHELASTIC_RUN_ID=batchplus"};
}

}  // namespace batchplus
