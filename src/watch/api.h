#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "watch/http_message.h"
#include "watch/live_report.h"
#include "watch/watcher.h"

namespace batchplus {

/// What is answered to each request: docs/watch.md describes it. Any number of threads may ask at once.
class WatchApi {
 public:
  explicit WatchApi(const Watcher& watcher, std::string title);

  WatchReply answer(const WatchRequest& request);
  /// The answer, where it takes no time: the page itself, and the beginning of a stream. The others wait
  /// until every run was looked at, and read files.
  std::optional<WatchReply> answer_at_once(const WatchRequest& request) const;

  /// What an event stream sends to who has seen a version, or the first piece of it; sets the version that it
  /// has seen then. 0: it has seen nothing.
  std::shared_ptr<const std::string> events_since(uint64_t& version);
  /// Where a reader was left that names its last event, "BOOT-VERSION"; 0 when that was another server.
  uint64_t version_of_event(const std::string& id) const;

  /// Nothing will change any more: streams are told so with what they get next, and reports are never old.
  void end() { has_ended_ = true; }

 private:
  WatchReply runs() const;
  WatchReply run(const std::string& id, const std::string& target) const;
  WatchReply sweeps() const;
  WatchReply report(const std::string& target);

  struct Kept {
    uint64_t version = 0;
    double built_at = 0;
    double seconds = 0;
    std::shared_ptr<const std::string> body;
  };

  const Watcher& watcher_;
  std::shared_ptr<const std::string> page_;
  std::string boot_;
  std::atomic<bool> has_ended_{false};
  std::mutex reports_mutex_;
  std::map<std::string, Kept> reports_;
  std::mutex events_mutex_;
  uint64_t events_from_ = 0;
  uint64_t events_to_ = 0;
  /// When they were made.
  uint64_t events_newest_ = 0;
  std::shared_ptr<const std::string> events_;
};

}  // namespace batchplus
