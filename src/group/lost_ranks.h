#pragma once

#include <mutex>
#include <optional>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "group/membership.h"

namespace batchplus {

/// Finds out, once something went wrong between two ranks, who is at fault: those who are alive say so at the
/// meeting point, the others are lost. A rank with which something went wrong may itself only have waited for
/// a third one.
class LostRanks {
 public:
  LostRanks(const Membership& membership, c10::intrusive_ptr<c10d::Store> store)
      : membership_(membership), store_(std::move(store)) {}

  /// Who is lost: the suspect, unless others are known. This rank's connections are closed by now. Threads
  /// may ask at the same time; the meeting point is asked once.
  std::vector<int> find(int suspect);

 private:
  std::vector<int> ask() const;

  Membership membership_;
  c10::intrusive_ptr<c10d::Store> store_;
  std::mutex mutex_;
  /// What the meeting point said; nobody, if it was no help.
  std::optional<std::vector<int>> found_;
};

}  // namespace batchplus
