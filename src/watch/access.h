#pragma once

#include <optional>
#include <string>
#include <vector>

#include "watch/http_message.h"

namespace batchplus {

/// Who may read. On the loopback address everybody who can reach it, under a name of this machine; elsewhere
/// who knows the token.
class Access {
 public:
  /// `host` is the address that is listened on.
  Access(const std::string& host, int port);

  /// What to answer instead of what was asked for; nothing: go on.
  std::optional<WatchReply> refuse(const WatchRequest& request) const;

  /// Empty on the loopback address.
  const std::string& token() const { return token_; }
  /// What to open in a browser.
  std::string address() const;

  /// Headers of every reply: nothing from elsewhere, no frames, no guessing of types, no storing.
  static const std::vector<std::pair<std::string, std::string>>& headers();

 private:
  bool is_own_name(const std::string& host_header) const;
  bool knows_token(const WatchRequest& request) const;

  std::string host_;
  int port_;
  bool is_loopback_;
  std::string token_;
  std::string cookie_;
};

bool is_loopback(const std::string& host);

/// In a time that does not depend on where they differ.
bool are_equal_secrets(const std::string& a, const std::string& b);

/// The value of a query's parameter; nothing when it is not there.
std::optional<std::string> query_value(const std::string& target, const std::string& name);
/// Before the query, as it came.
std::string path_of(const std::string& target);

}  // namespace batchplus
