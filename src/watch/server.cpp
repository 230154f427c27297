#include "watch/server.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <set>

#include "util/clock.h"
#include "util/error.h"
#include "watch/connection.h"

namespace batchplus {
namespace asio = boost::asio;
using Tcp = asio::ip::tcp;

namespace {

/// A process that this one starts, like a sweep's worker, does not keep it open.
template <typename Socket>
void keep_from_children(Socket& socket) {
  ::fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);
}

}  // namespace

class WatchServer::Parts : public ConnectionHost {
 public:
  Parts(WatchApi& api, const std::string& host, int port, ServerLimits limits)
      : api_(api), limits_(limits), acceptor_(context_), sign_of_life_(context_), pause_(context_) {
    listen(host, port);
    access_.emplace(host, acceptor_.local_endpoint().port());
  }

  void accept() {
    acceptor_.async_accept([this](boost::system::error_code problem, Tcp::socket socket) {
      if (!acceptor_.is_open()) return;
      if (problem) {
        // Out of descriptors, most likely: others have to go first.
        pause_.expires_after(milliseconds(0.1));
        pause_.async_wait([this](boost::system::error_code) { accept(); });
        return;
      }
      keep_from_children(socket);
      if (connections_.size() < limits_.connections) start_connection(std::move(socket), *this);
      accept();
    });
  }

  void show_life() {
    sign_of_life_.expires_after(milliseconds(limits_.seconds_between_signs_of_life));
    sign_of_life_.async_wait([this](boost::system::error_code problem) {
      if (problem) return;
      for (const auto& connection : streams()) connection->show_life();
      show_life();
    });
  }

  void stop() {
    asio::post(context_, [this] {
      acceptor_.close();
      context_.stop();
    });
  }

  void announce() {
    // Several changes that come before they are sent are one.
    if (is_announced_.exchange(true)) return;
    asio::post(context_, [this] {
      is_announced_ = false;
      for (const auto& connection : streams()) connection->send_news();
    });
  }

  // ---- what a connection asks of its server ----

  WatchApi& api() override { return api_; }
  const Access& access() const override { return *access_; }
  const ServerLimits& limits() const override { return limits_; }
  asio::thread_pool& workers() override { return workers_; }
  void add(Connection& connection) override { connections_.insert(&connection); }
  void remove(Connection& connection) override {
    connections_.erase(&connection);
    streams_.erase(&connection);
    stream_count_ = streams_.size();
  }
  bool add_stream(Connection& connection) override {
    if (streams_.size() >= limits_.event_streams) return false;
    streams_.insert(&connection);
    stream_count_ = streams_.size();
    return true;
  }

  /// Who is connected. Before the context, which takes the last of them with it.
  std::set<Connection*> connections_;
  std::set<Connection*> streams_;
  std::atomic<size_t> stream_count_{0};
  asio::io_context context_{1};
  WatchApi& api_;
  ServerLimits limits_;
  Tcp::acceptor acceptor_;
  std::optional<Access> access_;

  /// Before the context goes, with what its connections wait for, nobody may be at work for one.
  void finish() { workers_.join(); }

 private:
  void listen(const std::string& host, int port) {
    boost::system::error_code problem;
    Tcp::resolver resolver(context_);
    const auto found = resolver.resolve(host, std::to_string(port), Tcp::resolver::passive, problem);
    if (problem || found.begin() == found.end()) {
      throw Error("not an address of this machine",
                  {"host", host, "127.0.0.1 for this machine alone, 0.0.0.0 for all of its addresses"});
    }
    const Tcp::endpoint endpoint = *found.begin();
    acceptor_.open(endpoint.protocol(), problem);
    if (!problem) keep_from_children(acceptor_);
    if (!problem) acceptor_.set_option(asio::socket_base::reuse_address(true), problem);
    if (!problem) acceptor_.bind(endpoint, problem);
    if (!problem) acceptor_.listen(asio::socket_base::max_listen_connections, problem);
    if (problem) {
      throw Error("cannot listen", {fmt::format("{}:{}", host, port), problem.message(),
                                    "choose another {port}, or leave it out for a free one"});
    }
  }

  std::vector<std::shared_ptr<Connection>> streams() {
    std::vector<std::shared_ptr<Connection>> all;
    for (Connection* connection : streams_) all.push_back(connection->shared_from_this());
    return all;
  }

  asio::steady_timer sign_of_life_;
  asio::steady_timer pause_;
  std::atomic<bool> is_announced_{false};
  asio::thread_pool workers_{2};
};

WatchServer::WatchServer(WatchApi& api, const std::string& host, int port, ServerLimits limits)
    : parts_(std::make_unique<Parts>(api, host, port, limits)) {}

WatchServer::~WatchServer() {
  parts_->finish();
}

const Access& WatchServer::access() const {
  return parts_->access();
}

int WatchServer::port() const {
  return parts_->acceptor_.local_endpoint().port();
}

void WatchServer::run() {
  parts_->accept();
  parts_->show_life();
  while (true) {
    try {
      parts_->context_.run();
      return;
    } catch (const std::exception&) {
      // The connection that it was about is gone; the others go on.
    }
  }
}

size_t WatchServer::count_streams() const {
  return parts_->stream_count_;
}

void WatchServer::stop() {
  parts_->stop();
}

void WatchServer::announce() {
  parts_->announce();
}

}  // namespace batchplus
