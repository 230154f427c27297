#include "group/machine_ranks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string>

#include "group/membership.h"
#include "util/error.h"
#include "util/text.h"

namespace batchplus {
namespace {

std::string link_target(const char* path) {
  std::array<char, 256> target{};
  const ssize_t length = ::readlink(path, target.data(), target.size());
  return length > 0 ? std::string(target.data(), static_cast<size_t>(length)) : "";
}

/// Equal for processes of one machine that see each other's processes and share a network: containers and
/// network namespaces are machines of their own.
std::string machine_identity() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  if (boot.empty()) return "";
  return fmt::format("{} {} {} {}", boot, link_target("/proc/self/ns/pid"), link_target("/proc/self/ns/net"),
                     ::getuid());
}

bool wants_sockets() {
  const auto links = read_environment("BATCHPLUS_LINKS");
  if (!links || links->empty() || *links == "memory") return false;
  if (*links == "sockets") return true;
  throw Error("no such kind of link between processes",
              {"$BATCHPLUS_LINKS", *links, suggest_name(*links, {"memory", "sockets"})});
}

/// What each rank has said about something.
class Notes {
 public:
  Notes(c10d::Store& store, int rank) : store_(store), rank_(rank) {}
  void write(const std::string& about, const std::string& text) {
    store_.set(fmt::format("{}/{}", about, rank_), std::vector<uint8_t>(text.begin(), text.end()));
  }
  std::string read(const std::string& about, int rank) {
    const std::vector<uint8_t> text = store_.get(fmt::format("{}/{}", about, rank));
    return {text.begin(), text.end()};
  }

 private:
  c10d::Store& store_;
  int rank_;
};

}  // namespace

MachineRanks::MachineRanks(c10d::Store& store, int rank, int size) {
  Notes notes(store, rank);
  const std::string machine = wants_sockets() ? "" : machine_identity();
  // A text is never empty at the meeting point.
  notes.write("machine", "of " + machine);
  notes.write("process", std::to_string(::getpid()));
  if (machine.empty()) return;
  std::vector<int> processes;
  for (int other = 0; other < size; ++other) {
    if (notes.read("machine", other) != "of " + machine) continue;
    ranks_.push_back(other);
    processes.push_back(static_cast<int>(parse_integer(notes.read("process", other), "process")));
  }
  if (ranks_.size() == 1) {
    ranks_.clear();
    return;
  }

  const auto count = static_cast<int>(ranks_.size());
  if (rank == ranks_.front()) {
    mailboxes_ = SharedMailboxes::create(count);
    notes.write("memory", mailboxes_ ? mailboxes_->path() : "none");
  } else {
    mailboxes_ = SharedMailboxes::open(notes.read("memory", ranks_.front()), count);
  }
  notes.write("entered", mailboxes_ && mailboxes_->enter(place_of(rank), processes) ? "yes" : "no");
  const bool have_all_entered = std::all_of(ranks_.begin(), ranks_.end(),
                                            [&](int other) { return notes.read("entered", other) == "yes"; });
  if (have_all_entered) return;
  ranks_.clear();
  mailboxes_.reset();
}

bool MachineRanks::has(int rank) const {
  return std::binary_search(ranks_.begin(), ranks_.end(), rank);
}

int MachineRanks::place_of(int rank) const {
  return static_cast<int>(std::lower_bound(ranks_.begin(), ranks_.end(), rank) - ranks_.begin());
}

}  // namespace batchplus
