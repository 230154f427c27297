#pragma once

#include <chrono>
#include <memory>

#include "group/group.h"
#include "group/membership.h"

namespace batchplus {

/// Joins the group over sockets (torch.distributed's c10d with Gloo) and waits until all ranks are there. A
/// rank that does not answer for `timeout` is lost.
std::unique_ptr<Group> join_group(const Membership& membership, std::chrono::milliseconds timeout);

/// Where the ranks of a group find each other, for a launcher that serves it: on this machine.
class MeetingPoint {
 public:
  MeetingPoint();
  ~MeetingPoint();
  MeetingPoint(const MeetingPoint&) = delete;
  MeetingPoint& operator=(const MeetingPoint&) = delete;

  int port() const;

 private:
  struct Store;
  std::unique_ptr<Store> store_;
};

}  // namespace batchplus
