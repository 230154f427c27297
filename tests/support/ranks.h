#pragma once

#include <functional>
#include <thread>

#include "group/thread_group.h"

namespace batchplus::testing {

/// Runs body(group) on a thread for each rank. What a rank throws is handed on, that of the first rank first.
inline void run_ranks(int size, const std::function<void(Group&)>& body) {
  std::vector<std::unique_ptr<Group>> groups = make_thread_groups(size);
  std::vector<std::exception_ptr> problems(groups.size());
  {
    std::vector<std::jthread> threads;
    for (size_t rank = 0; rank < groups.size(); ++rank) {
      threads.emplace_back([&, rank] {
        try {
          body(*groups[rank]);
        } catch (...) {
          problems[rank] = std::current_exception();
        }
        groups[rank].reset();
      });
    }
  }
  for (const std::exception_ptr& problem : problems) {
    if (problem) std::rethrow_exception(problem);
  }
}

}  // namespace batchplus::testing
