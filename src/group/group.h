#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace batchplus {

/// The processes that train one network together. Each has a rank from 0 on. Every call but `name_of` is made
/// by all ranks, in the same order and with equal sizes, and leaves all of them with the same bits. A rank
/// that does not take part is an Error that names it.
class Group {
 public:
  Group() = default;
  virtual ~Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  bool is_solo() const { return size() == 1; }

  /// The sum over ranks takes the place of `values`, in a fixed order: as a binary tree if their number is a
  /// power of two, (0 + 1) + (2 + 3) for four, otherwise rank by rank.
  void sum(float* values, int64_t count);
  void sum(double* values, int64_t count);

  /// Where a rank's share of `count` things begins; that of size() is the end.
  int64_t share_begin(int64_t count, int rank) const { return count * rank / size(); }
  /// Each rank has its share of `count` things of `bytes_each` in place; afterwards all have all of them.
  void gather(void* all, int64_t count, int64_t bytes_each);
  /// Each rank has `count` things of `bytes_each` in `own`. Afterwards each has its share of those of every
  /// rank in `terms`, one rank behind the other.
  void exchange_shares(const void* own, int64_t count, int64_t bytes_each, void* terms);
  /// The texts of all ranks.
  std::vector<std::string> gather(const std::string& own);
  /// What rank 0 has.
  void broadcast(void* bytes, int64_t count);
  void broadcast(std::string& text);

  /// An Error, on every rank, that names the first rank whose text is not that of rank 0, with the first line
  /// in which they differ. `what` and `hint` go into it.
  void agree(const std::string& what, const std::string& own, const std::string& hint);

  /// "rank 1 on HOST", as it is told to the user.
  virtual std::string name_of(int rank) const;

  /// The same ranks over connections of their own, for one more thread of each (see BackgroundSums): it can
  /// meet those of other ranks while this thread computes, or meets others too. Null where it would have
  /// nothing to wait for, because messages only move while somebody copies them.
  virtual Group* companion() { return nullptr; }

  struct Message {
    int peer = 0;
    void* bytes = nullptr;
    int64_t count = 0;
  };

 protected:
  /// Sends to one rank and receives from another (or the same one), both at once. Nothing is sent or received
  /// where the count is 0.
  virtual void exchange(const Message& sent, const Message& received) = 0;
  /// Sums of more bytes are made in pieces, as many bytes each. Small ones stay in a core's cache between
  /// receiving and adding; a piece takes a message.
  virtual int64_t piece_bytes() const { return int64_t{1} << 18; }

 private:
  template <class Number>
  void sum_of(Number* values, int64_t count);
  template <class Number>
  void sum_piece(Number* values, int64_t count);
  /// Few numbers of 2, 4, 8, ... ranks: pairs exchange all of them, then pairs of pairs.
  template <class Number>
  void sum_by_pairs(Number* values, int64_t count);
  /// Each rank adds up its share of the numbers, and all gather the sums.
  template <class Number>
  void sum_by_shares(Number* values, int64_t count);
  /// Each rank has the bytes from ends[rank - 1] to ends[rank].
  void gather_pieces(char* all, const std::vector<int64_t>& ends);
};

/// A process by itself.
class SoloGroup : public Group {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }

 protected:
  void exchange(const Message& sent, const Message& received) override;
};

/// The error of a group that lost a rank; `rank` as Group::name_of has it.
[[noreturn]] void throw_lost(const std::string& rank, const std::string& why);

}  // namespace batchplus
