#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace batchplus {

/// A request as the rules of this program look at it.
struct WatchRequest {
  std::string method = "GET";
  /// As it came: path and query.
  std::string target = "/";
  /// By lower-case names; of several of one name all, with a newline between.
  std::map<std::string, std::string> headers = {};

  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

struct WatchReply {
  int status = 200;
  std::string content_type = "application/json";
  std::shared_ptr<const std::string> body = nullptr;
  /// Besides those that every reply has.
  std::vector<std::pair<std::string, std::string>> headers = {};
  /// The connection stays, and gets what changes after this version.
  bool is_event_stream = false;
  uint64_t since = 0;
};

}  // namespace batchplus
