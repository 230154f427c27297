#pragma once

#include <memory>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "group/shared_mailboxes.h"

namespace batchplus {

/// The ranks of a group that are on this machine, and the memory that they share.
class MachineRanks {
 public:
  /// Nobody is near.
  MachineRanks() = default;
  /// Asks at the meeting point who is on this machine, in this network. All ranks ask. Where memory cannot be
  /// shared, and with BATCHPLUS_LINKS=sockets, nobody is near.
  MachineRanks(c10d::Store& store, int rank, int size);

  bool are_all_of(int size) const { return static_cast<int>(ranks_.size()) == size; }
  bool has(int rank) const;
  int place_of(int rank) const;
  int rank_at(int place) const { return ranks_[static_cast<size_t>(place)]; }
  SharedMailboxes& mailboxes() { return *mailboxes_; }

 private:
  /// In order, this one included; none if nobody else is near.
  std::vector<int> ranks_;
  std::unique_ptr<SharedMailboxes> mailboxes_;
};

}  // namespace batchplus
