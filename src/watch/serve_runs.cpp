#include "watch/serve_runs.h"

#include <thread>

#include "util/text.h"
#include "watch/api.h"
#include "watch/server.h"
#include "watch/watcher.h"

namespace batchplus {
namespace {

/// So long the first look may take before the page can be asked for; the rest of the records follows.
constexpr double kSecondsOfFirstLook = 1;

std::string title_of(const ServeOptions& options) {
  std::vector<std::string> names;
  for (const auto& path : options.paths)
    names.push_back(std::filesystem::canonical(path).filename().string());
  return join(names, ", ");
}

}  // namespace

class RunServer::Parts {
 public:
  explicit Parts(const ServeOptions& options)
      : watcher_(options.paths),
        api_(watcher_, title_of(options)),
        server_(api_, options.host, options.port) {
    watcher_.look(kSecondsOfFirstLook);
    watcher_.start([this] { server_.announce(); });
    thread_ = std::thread([this] { server_.run(); });
  }

  ~Parts() {
    watcher_.stop();
    // Who is looking sees how it ended.
    watcher_.look();
    server_.announce();
    server_.stop();
    thread_.join();
  }

  const WatchServer& server() const { return server_; }

 private:
  Watcher watcher_;
  WatchApi api_;
  WatchServer server_;
  std::thread thread_;
};

RunServer::RunServer(const ServeOptions& options) : parts_(std::make_unique<Parts>(options)) {}

RunServer::~RunServer() = default;

std::string RunServer::address() const {
  return parts_->server().access().address();
}

}  // namespace batchplus
