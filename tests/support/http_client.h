#pragma once

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "util/error.h"

namespace batchplus::testing {

struct HttpAnswer {
  int status = 0;
  /// Status line and headers.
  std::string head;
  std::string body;

  std::string header(const std::string& name) const {
    const size_t line = head.find("\r\n" + name + ": ");
    if (line == std::string::npos) return "";
    const size_t begin = line + name.size() + 4;
    return head.substr(begin, head.find("\r\n", begin) - begin);
  }
};

/// A connection to a port of this machine, byte by byte: what a test sends need not be HTTP.
class RawConnection {
 public:
  explicit RawConnection(int port) : descriptor_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(port));
    // A server that hangs fails the test, and does not hold it up.
    constexpr int kSeconds = 600;
    const timeval limit{kSeconds, 0};
    ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    is_open_ = ::connect(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~RawConnection() { ::close(descriptor_); }
  RawConnection(const RawConnection&) = delete;
  RawConnection& operator=(const RawConnection&) = delete;

  bool is_open() const { return is_open_; }
  /// Whether the server hung up, as far as was read.
  bool has_ended() const { return has_ended_; }
  void send(std::string_view bytes) const {
    (void)!::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  /// Says that nothing more will be sent.
  void finish() const { ::shutdown(descriptor_, SHUT_WR); }

  /// Reads until `mark` has come; everything that has come so far. Without the mark: until the end.
  std::string read_until(std::string_view mark) {
    char piece[4096];
    while (mark.empty() || received_.find(mark) == std::string::npos) {
      const ssize_t count = ::recv(descriptor_, piece, sizeof piece, 0);
      has_ended_ = count == 0;
      if (count <= 0) break;
      received_.append(piece, static_cast<size_t>(count));
    }
    return received_;
  }
  /// Forgets what has come.
  void forget() { received_.clear(); }

  /// The next answer, by its length.
  HttpAnswer read_answer(bool has_body = true) {
    HttpAnswer answer;
    const size_t end = read_until("\r\n\r\n").find("\r\n\r\n");
    if (end == std::string::npos) return answer;
    answer.head = received_.substr(0, end + 2);
    answer.status = std::atoi(answer.head.c_str() + answer.head.find(' '));
    received_.erase(0, end + 4);
    const auto length =
        has_body ? static_cast<size_t>(std::atoll(answer.header("Content-Length").c_str())) : 0;
    char piece[4096];
    while (received_.size() < length) {
      const ssize_t count = ::recv(descriptor_, piece, sizeof piece, 0);
      if (count <= 0) break;
      received_.append(piece, static_cast<size_t>(count));
    }
    answer.body = received_.substr(0, length);
    received_.erase(0, length);
    return answer;
  }

 private:
  int descriptor_;
  bool is_open_ = false;
  bool has_ended_ = false;
  std::string received_;
};

inline std::string http_request(const std::string& target, const std::string& more = "",
                                const std::string& host = "127.0.0.1", const std::string& method = "GET") {
  return fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n{}\r\n", method, target, host, more);
}

inline HttpAnswer http_get(int port, const std::string& target, const std::string& more = "",
                           const std::string& host = "127.0.0.1") {
  RawConnection connection(port);
  connection.send(http_request(target, more, host));
  return connection.read_answer();
}

}  // namespace batchplus::testing
