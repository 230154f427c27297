#pragma once

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "util/error.h"

namespace batchplus::testing {

/// How the server answers a request.
struct HttpReply {
  /// Anything but 200 comes with an error page; 0 hangs up without a word.
  int status = 200;
  std::string location = "";
  bool allows_ranges = true;
  bool says_length = true;
  /// Where a range asked for gets answered from, counted from the byte that was asked for.
  int64_t range_shift = 0;
  /// A range answered is at most this long.
  size_t range_limit = std::numeric_limits<size_t>::max();
  /// Only so many bytes of the body are sent before the connection is closed.
  size_t cut_after = std::numeric_limits<size_t>::max();
  /// Instead of closing, wait silently until the client goes away.
  bool holds = false;
};

struct HttpRequest {
  /// "GET /file HTTP/1.1"
  std::string line;
  /// "bytes=100-", empty when the client did not ask for a range.
  std::string range;
  std::string user_agent;
  /// How many bytes of body it was answered with.
  size_t answered_bytes = 0;
};

/// A TCP socket on a free port of 127.0.0.1. Until it listens, connections to it are refused.
class LocalPort {
 public:
  LocalPort() : descriptor_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    BATCHPLUS_CHECK(::bind(descriptor_, generic, size) == 0, "the machine has a loopback interface");
    BATCHPLUS_CHECK(::getsockname(descriptor_, generic, &size) == 0, "a bound socket has a name");
    address_ = fmt::format("http://127.0.0.1:{}", ntohs(address.sin_port));
  }
  ~LocalPort() { ::close(descriptor_); }
  LocalPort(const LocalPort&) = delete;
  LocalPort& operator=(const LocalPort&) = delete;

  int descriptor() const { return descriptor_; }
  /// "http://127.0.0.1:40000"
  const std::string& address() const { return address_; }

 private:
  int descriptor_;
  std::string address_;
};

/// Serves the same bytes at every path, one connection after the other, and records the requests.
class HttpServer {
 public:
  /// Request i is answered as first[i] says, later ones as `usual` says.
  explicit HttpServer(std::string bytes, HttpReply usual = {}, std::vector<HttpReply> first = {})
      : bytes_(std::move(bytes)), usual_(std::move(usual)), first_(std::move(first)) {
    BATCHPLUS_CHECK(::listen(port_.descriptor(), 16) == 0, "a bound socket can listen");
    thread_ = std::thread([this] { serve(); });
  }
  ~HttpServer() {
    ::eventfd_write(stop_, 1);
    thread_.join();
    ::close(stop_);
  }
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  const std::string& address() const { return port_.address(); }
  std::string url() const { return address() + "/file"; }
  std::vector<HttpRequest> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  struct Message {
    std::string head;
    std::string_view body;
  };

  void serve() {
    while (wait_for(port_.descriptor())) {
      const int connection = ::accept4(port_.descriptor(), nullptr, nullptr, SOCK_CLOEXEC);
      if (connection < 0) continue;
      answer(connection);
      ::close(connection);
    }
  }

  /// True when there is something to read (or the peer went away), false when the server is to stop.
  bool wait_for(int descriptor) const {
    pollfd polled[] = {{descriptor, POLLIN, 0}, {stop_, POLLIN, 0}};
    while (::poll(polled, 2, -1) < 0) continue;
    return polled[1].revents == 0;
  }

  void answer(int connection) {
    HttpRequest request;
    if (!read_request(connection, request)) return;
    const size_t index = requests().size();
    const HttpReply& reply = index < first_.size() ? first_[index] : usual_;
    const Message message = compose(request, reply);
    request.answered_bytes = message.body.size();
    {
      // Before the first byte leaves, so that a client that has its answer finds its request recorded.
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
    }
    send_all(connection, message.head);
    send_all(connection, message.body);
    char ignored = 0;
    if (reply.holds && wait_for(connection)) (void)!::read(connection, &ignored, 1);
  }

  bool read_request(int connection, HttpRequest& request) const {
    std::string text;
    char piece[1024];
    while (text.find("\r\n\r\n") == std::string::npos) {
      if (!wait_for(connection)) return false;
      const ssize_t count = ::read(connection, piece, sizeof(piece));
      if (count <= 0) return false;
      text.append(piece, static_cast<size_t>(count));
    }
    request.line = text.substr(0, text.find("\r\n"));
    request.range = header(text, "Range");
    request.user_agent = header(text, "User-Agent");
    return true;
  }

  static std::string header(const std::string& text, const std::string& name) {
    const size_t line = text.find("\r\n" + name + ": ");
    if (line == std::string::npos) return "";
    const size_t begin = line + name.size() + 4;
    return text.substr(begin, text.find("\r\n", begin) - begin);
  }

  Message compose(const HttpRequest& request, const HttpReply& reply) const {
    if (reply.status == 0) return {};
    const bool is_range = reply.allows_ranges && request.range.starts_with("bytes=");
    const int64_t asked = is_range ? std::atoll(request.range.c_str() + 6) : 0;
    const size_t begin = static_cast<size_t>(asked + (is_range ? reply.range_shift : 0));
    Message message;
    if (reply.status != 200) {
      message = {fmt::format("HTTP/1.1 {} Trouble\r\n", reply.status), kErrorPage};
    } else if (is_range && begin >= bytes_.size()) {
      message = {fmt::format("HTTP/1.1 416 Beyond\r\nContent-Range: bytes */{}\r\n", bytes_.size()),
                 kErrorPage};
    } else if (is_range) {
      const auto body = std::string_view(bytes_).substr(begin, reply.range_limit);
      message = {fmt::format("HTTP/1.1 206 Part\r\nContent-Range: bytes {}-{}/{}\r\n", begin,
                             begin + body.size() - 1, bytes_.size()),
                 body};
    } else {
      message = {"HTTP/1.1 200 OK\r\n", bytes_};
    }
    if (!reply.location.empty()) message.head += fmt::format("Location: {}\r\n", reply.location);
    if (reply.says_length) message.head += fmt::format("Content-Length: {}\r\n", message.body.size());
    message.head += "Connection: close\r\n\r\n";
    message.body = message.body.substr(0, reply.cut_after);
    return message;
  }

  /// A client that went away is no trouble of the server's.
  static void send_all(int connection, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
  }

  static constexpr std::string_view kErrorPage = "<html>an error page, not the file</html>";

  const std::string bytes_;
  const HttpReply usual_;
  const std::vector<HttpReply> first_;
  LocalPort port_;
  const int stop_ = ::eventfd(0, EFD_CLOEXEC);
  mutable std::mutex mutex_;
  std::vector<HttpRequest> requests_;
  std::thread thread_;
};

}  // namespace batchplus::testing
