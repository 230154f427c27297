#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "group/group.h"
#include "group/membership.h"

namespace batchplus {

/// Connections over TCP (Gloo's) from this rank to all others. One thread sends and receives; another may
/// close them.
class GlooLinks {
 public:
  using Device = std::shared_ptr<gloo::transport::Device>;
  /// Thrown where sending or receiving failed; the connections are closed then.
  struct Trouble {
    int peer = 0;
    bool is_late = false;
  };

  /// By which others reach this machine; links can have it in common.
  static Device make_device(const Membership& membership);
  /// Waits until all ranks are connected. They find each other in `store`.
  GlooLinks(const c10::intrusive_ptr<c10d::Store>& store, const Membership& membership, const Device& device,
            std::chrono::milliseconds timeout);

  /// Begins to send and to receive; nothing where a count is 0. Gloo's own thread does it.
  void begin(const Group::Message& sent, const Group::Message& received);
  /// Waits for what was begun last.
  void finish();
  /// Closes the connections, from any thread, so that others notice too. Whoever waits here has trouble.
  void close();

 private:
  struct Work {
    int peer = 0;
    c10::intrusive_ptr<c10d::Work> work;
  };
  [[noreturn]] void give_up(const Trouble& trouble);

  std::chrono::milliseconds timeout_;
  std::mutex mutex_;
  std::condition_variable stopped_waiting_;
  bool is_waiting_ = false;
  /// Each keeps the connections open.
  std::vector<Work> works_;
  /// None once they are closed.
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
};

}  // namespace batchplus
