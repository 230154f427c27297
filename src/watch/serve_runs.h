#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace batchplus {

struct ServeOptions {
  /// Run directories, sweeps, or folders of them.
  std::vector<std::filesystem::path> paths = {"."};
  std::string host = "127.0.0.1";
  /// 0: a free one.
  int port = 0;
};

/// Watches runs and serves a page of them, in threads of its own, from construction to the end of the scope.
class RunServer {
 public:
  /// An Error for a path that is no directory, and where it cannot listen.
  explicit RunServer(const ServeOptions& options);
  ~RunServer();
  RunServer(const RunServer&) = delete;
  RunServer& operator=(const RunServer&) = delete;

  /// What to open in a browser; the token, where one is needed, is in it.
  std::string address() const;

  /// Tells those who look that nothing more will come, and waits until they have taken what is there and
  /// left: so many seconds at most, or until `is_enough`.
  void show_end(double most_seconds, const std::function<bool()>& is_enough);

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace batchplus
