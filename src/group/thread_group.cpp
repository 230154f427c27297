#include "group/thread_group.h"

#include <condition_variable>
#include <cstring>
#include <mutex>

#include "util/error.h"

namespace batchplus {
namespace {

/// What lies ready for each pair of ranks.
struct Board {
  explicit Board(int ranks)
      : size(ranks),
        letters(static_cast<size_t>(ranks * ranks), nullptr),
        is_lost(static_cast<size_t>(ranks)) {}
  const void*& letter(int from, int to) { return letters[static_cast<size_t>(from * size + to)]; }

  int size;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<const void*> letters;
  std::vector<bool> is_lost;
};

class ThreadGroup : public Group {
 public:
  /// The companion belongs to the group; null: none.
  ThreadGroup(std::shared_ptr<Board> board, int rank, std::unique_ptr<Group> companion)
      : board_(std::move(board)), rank_(rank), companion_(std::move(companion)) {}
  ~ThreadGroup() override {
    const std::lock_guard lock(board_->mutex);
    board_->is_lost[static_cast<size_t>(rank_)] = true;
    board_->changed.notify_all();
  }

  int rank() const override { return rank_; }
  int size() const override { return board_->size; }
  Group* companion() override { return companion_.get(); }

 protected:
  void exchange(const Message& sent, const Message& received) override {
    std::unique_lock lock(board_->mutex);
    if (sent.count > 0) board_->letter(rank_, sent.peer) = sent.bytes;
    board_->changed.notify_all();
    if (received.count > 0) {
      const void*& letter = board_->letter(received.peer, rank_);
      wait_for(lock, received.peer, [&] { return letter != nullptr; });
      std::memcpy(received.bytes, letter, static_cast<size_t>(received.count));
      letter = nullptr;
      board_->changed.notify_all();
    }
    if (sent.count > 0)
      wait_for(lock, sent.peer, [&] { return board_->letter(rank_, sent.peer) == nullptr; });
  }

 private:
  template <class Condition>
  void wait_for(std::unique_lock<std::mutex>& lock, int peer, const Condition& condition) {
    const auto is_lost = [&] { return board_->is_lost[static_cast<size_t>(peer)]; };
    board_->changed.wait(lock, [&] { return condition() || is_lost(); });
    if (condition()) return;
    board_->letter(rank_, peer) = nullptr;
    throw_lost(name_of(peer), "its thread ended");
  }

  std::shared_ptr<Board> board_;
  int rank_;
  std::unique_ptr<Group> companion_;
};

}  // namespace

std::vector<std::unique_ptr<Group>> make_thread_groups(int size) {
  const auto board = std::make_shared<Board>(size);
  const auto board_of_companions = std::make_shared<Board>(size);
  std::vector<std::unique_ptr<Group>> groups;
  for (int rank = 0; rank < size; ++rank) {
    groups.push_back(std::make_unique<ThreadGroup>(
        board, rank, std::make_unique<ThreadGroup>(board_of_companions, rank, nullptr)));
  }
  return groups;
}

}  // namespace batchplus
