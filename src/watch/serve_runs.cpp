#include "watch/serve_runs.h"

#include <chrono>
#include <thread>

#include "util/clock.h"
#include "util/text.h"
#include "watch/api.h"
#include "watch/server.h"
#include "watch/watcher.h"

namespace batchplus {
namespace {

/// So long the last look may take that those who are looking get.
constexpr double kSecondsOfLastLook = 0.5;

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
    watcher_.start([this] { server_.announce(); });
    thread_ = std::thread([this] { server_.run(); });
  }

  ~Parts() {
    watcher_.stop();
    // Who is looking sees how it ended.
    watcher_.look(kSecondsOfLastLook);
    server_.announce();
    server_.stop();
    thread_.join();
  }

  const WatchServer& server() const { return server_; }

  void show_end(double most_seconds, const std::function<bool()>& is_enough) {
    const Stopwatch clock;
    watcher_.stop();
    watcher_.look(kSecondsOfLastLook);
    api_.end();
    watcher_.note_change();
    server_.announce();
    while (server_.count_streams() > 0 && clock.seconds() < most_seconds && !is_enough())
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }

 private:
  Watcher watcher_;
  WatchApi api_;
  WatchServer server_;
  std::thread thread_;
};

RunServer::RunServer(const ServeOptions& options) : parts_(std::make_unique<Parts>(options)) {}

RunServer::~RunServer() = default;

void RunServer::show_end(double most_seconds, const std::function<bool()>& is_enough) {
  parts_->show_end(most_seconds, is_enough);
}

std::string RunServer::address() const {
  return parts_->server().access().address();
}

}  // namespace batchplus
