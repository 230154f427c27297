#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace batchplus {

/// Messages between processes of one machine, through memory that they share. From each process to each other
/// one leads a stream of bytes; a receiver that waits looks again and again for a moment, and then sleeps.
class SharedMailboxes {
 public:
  /// Memory for so many processes. Null where the system does not have what it takes.
  static std::unique_ptr<SharedMailboxes> create(int processes);
  /// The memory that another process has created, at its path(). Null where it cannot be opened.
  static std::unique_ptr<SharedMailboxes> open(const std::string& path, int processes);
  /// Tells the others that this process is gone.
  ~SharedMailboxes();
  SharedMailboxes(const SharedMailboxes&) = delete;
  SharedMailboxes& operator=(const SharedMailboxes&) = delete;

  /// Where other processes of this machine and this user find the memory, while this one has it open.
  std::string path() const;

  /// Takes a place, from 0 on. `processes` are the IDs of those at all places. False where the system does
  /// not tell when they end. Nobody exchanges anything before all have entered.
  bool enter(int place, const std::vector<int>& processes);

  struct Sent {
    int place = 0;
    const void* bytes = nullptr;
    int64_t count = 0;
  };
  struct Received {
    int place = 0;
    void* bytes = nullptr;
    int64_t count = 0;
  };
  enum class Outcome { kDone, kGone, kLate };
  struct Result {
    Outcome outcome = Outcome::kDone;
    /// Whose fault it is.
    int place = 0;
  };
  /// Sends and receives at once; nothing where a count is 0. kGone: a process has ended. kLate: nothing has
  /// moved for `timeout`.
  Result exchange(const Sent& sent, const Received& received, std::chrono::milliseconds timeout);

 private:
  struct Stream;
  struct Box;

  SharedMailboxes(int descriptor, void* memory, int processes);
  static size_t bytes_of(int processes);
  /// Takes the descriptor over.
  static std::unique_ptr<SharedMailboxes> map(int descriptor, int processes);
  Box& box(int place) const;
  Stream& stream(int from, int to) const;
  bool has_ended(int place) const;
  void ring(int place) const;

  int descriptor_;
  char* memory_;
  int processes_;
  int place_ = -1;
  /// Of the processes at the other places; -1 at the own one.
  std::vector<int> process_descriptors_;
};

}  // namespace batchplus
