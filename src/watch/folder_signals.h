#pragma once

#include <filesystem>
#include <set>
#include <string>

#include "watch/given_folder.h"

namespace batchplus {

/// Tells in which folders a run's files were written to, as it happens, where the system knows (inotify). Of
/// what other machines write to a shared disk it knows nothing, and it follows a limited number of folders:
/// who needs all changes still has to look for them.
class FolderSignals {
 public:
  FolderSignals();
  ~FolderSignals();
  FolderSignals(const FolderSignals&) = delete;
  FolderSignals& operator=(const FolderSignals&) = delete;

  /// Follows a folder. Its number, which is the same for the same folder; -1 when it cannot be followed.
  int follow(const GivenFolder& folder, const std::filesystem::path& relative);
  void leave(int number);

  struct News {
    /// Where something was written.
    std::set<int> written = {};
    /// That are followed no longer, because they are gone.
    std::set<int> gone = {};
    /// More happened than can be told: anything may have changed.
    bool is_incomplete = false;
  };
  /// Waits until something happened, wake() was called, or so many seconds are over.
  News wait(double seconds);
  /// Ends a wait, the present one or the next. From any thread.
  void wake();

 private:
  int signals_;
  int wake_;
};

}  // namespace batchplus
