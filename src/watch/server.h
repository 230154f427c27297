#pragma once

#include <functional>
#include <memory>
#include <string>

#include "watch/access.h"
#include "watch/api.h"

namespace batchplus {

/// How much is served at once, and for how long somebody is waited for.
struct ServerLimits {
  /// More are hung up on.
  size_t connections = 512;
  /// Of them, that stay for events; more are told to come back.
  size_t event_streams = 256;
  size_t header_bytes = 16 << 10;
  /// For a whole request, from its first byte or from the last reply.
  double read_seconds = 10;
  /// For a whole reply, or a piece of events.
  double write_seconds = 30;
  double seconds_between_signs_of_life = 15;
};

/// Serves the API by HTTP: one thread for all connections (Boost.Beast), so that a slow or silent one costs
/// a few kilobytes, and two that prepare what is asked for.
class WatchServer {
 public:
  /// Listens, without serving yet. `port` 0: a free one. An Error when it cannot.
  WatchServer(WatchApi& api, const std::string& host, int port, ServerLimits limits = {});
  ~WatchServer();
  WatchServer(const WatchServer&) = delete;
  WatchServer& operator=(const WatchServer&) = delete;

  const Access& access() const;
  int port() const;

  /// Serves until stop().
  void run();
  /// From any thread.
  void stop();
  /// Something changed: event streams get it. From any thread.
  void announce();
  /// Who listens to events at present. From any thread.
  size_t count_streams() const;

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace batchplus
