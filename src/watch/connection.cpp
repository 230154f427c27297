#include "watch/connection.h"

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <optional>

#include "util/clock.h"

namespace batchplus {
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using Tcp = asio::ip::tcp;

namespace {

/// Of what is no request, or too much of one.
int status_of(beast::error_code problem) {
  if (problem == http::error::header_limit) return 431;
  return problem == http::error::body_limit ? 413 : 400;
}

class HttpConnection : public Connection {
 public:
  HttpConnection(Tcp::socket socket, ConnectionHost& host) : stream_(std::move(socket)), host_(host) {
    host_.add(*this);
  }
  ~HttpConnection() override { host_.remove(*this); }

  void read() {
    parser_.emplace();
    set_limits(*parser_, host_.limits());
    stream_.expires_after(milliseconds(host_.limits().read_seconds));
    http::async_read_header(stream_, buffer_, *parser_,
                            [self = self()](beast::error_code problem, size_t) { self->on_header(problem); });
  }

  void send_news() override {
    if (is_writing_) return;
    const uint64_t before = seen_;
    auto text = host_.api().events_since(seen_);
    if (seen_ != before || before == 0) write_events(std::move(text));
  }

  void show_life() override {
    static const auto kComment = std::make_shared<const std::string>(":\n\n");
    if (!is_writing_) write_events(kComment);
  }

 private:
  std::shared_ptr<HttpConnection> self() {
    return std::static_pointer_cast<HttpConnection>(shared_from_this());
  }

  void on_header(beast::error_code problem) {
    if (problem == http::error::end_of_stream || problem == beast::error::timeout ||
        (problem && problem.category() != http::make_error_code(http::error::bad_target).category()))
      return close();
    const auto& header = parser_->get();
    if (problem) {
      is_last_ = true;
      return write({.status = status_of(problem)});
    }
    const bool has_body = header.has_content_length() || header.chunked();
    is_head_ = header.method() == http::verb::head;
    is_last_ = !header.keep_alive() || has_body;
    WatchRequest request = plain_request(header);
    if (auto refused = host_.access().refuse(request)) return write(std::move(*refused));
    if (has_body) return write({.status = 413});
    if (auto reply = host_.api().answer_at_once(request)) return write(std::move(*reply));
    // What is read from files does not keep the others waiting.
    stream_.expires_never();
    asio::post(host_.workers(), [self = self(), request = std::move(request)] {
      WatchReply reply;
      try {
        reply = self->host_.api().answer(request);
      } catch (const std::exception&) {
        reply = {.status = 500};
      }
      asio::post(self->stream_.get_executor(),
                 [self, reply = std::move(reply)]() mutable { self->write(std::move(reply)); });
    });
  }

  void write(WatchReply reply) {
    if (reply.is_event_stream && !is_head_) {
      if (host_.add_stream(*this)) return begin_stream(reply);
      reply = {
          .status = 503, .content_type = "text/plain; charset=utf-8", .headers = {{"Retry-After", "10"}}};
    }
    reply_ = std::move(reply);
    response_ = http::response<http::span_body<const char>>();
    fill_header(response_.base());
    static const std::string kNothing;
    const std::string& body = reply_.body ? *reply_.body : kNothing;
    response_.content_length(body.size());
    if (!is_head_) response_.body() = {body.data(), body.size()};
    response_.keep_alive(!is_last_);
    stream_.expires_after(milliseconds(host_.limits().write_seconds));
    serializer_.emplace(response_);
    serializer_->split(is_head_);
    const auto on_written = [self = self()](beast::error_code problem, size_t) {
      if (problem) return self->close();
      self->is_last_ ? self->linger() : self->read();
    };
    if (is_head_) {
      http::async_write_header(stream_, *serializer_, on_written);
    } else {
      http::async_write(stream_, *serializer_, on_written);
    }
  }

  void fill_header(http::response_header<>& header) {
    header.version(11);
    header.result(static_cast<unsigned>(reply_.status));
    header.set(http::field::content_type, reply_.content_type);
    for (const auto& [name, value] : Access::headers()) header.set(name, value);
    for (const auto& [name, value] : reply_.headers) header.set(name, value);
  }

  void begin_stream(const WatchReply& reply) {
    reply_ = reply;
    seen_ = reply.since;
    response_ = http::response<http::span_body<const char>>();
    fill_header(response_.base());
    response_.set(http::field::connection, "close");
    serializer_.emplace(response_);
    serializer_->split(true);
    is_writing_ = true;
    stream_.expires_after(milliseconds(host_.limits().write_seconds));
    http::async_write_header(stream_, *serializer_, [self = self()](beast::error_code problem, size_t) {
      if (problem) return self->close();
      self->is_writing_ = false;
      self->wait_for_end();
      self->send_news();
    });
  }

  /// Who listens to events has nothing to say: what comes is the end of it.
  void wait_for_end() {
    stream_.socket().async_read_some(asio::buffer(ignored_),
                                     [self = self()](beast::error_code, size_t) { self->close(); });
  }

  void write_events(std::shared_ptr<const std::string> text) {
    is_writing_ = true;
    stream_.expires_after(milliseconds(host_.limits().write_seconds));
    const auto bytes = asio::buffer(*text);
    asio::async_write(stream_, bytes, [self = self(), text](beast::error_code problem, size_t) {
      self->is_writing_ = false;
      if (problem) return self->close();
      self->stream_.expires_never();
      self->send_news();
    });
  }

  /// Closing while something is still to be read would take the reply away from the client.
  void linger() {
    beast::error_code ignored;
    stream_.socket().shutdown(Tcp::socket::shutdown_send, ignored);
    stream_.expires_after(milliseconds(std::min(1.0, host_.limits().read_seconds)));
    read_to_end();
  }

  void read_to_end() {
    constexpr size_t kMostBytes = 256 << 10;
    stream_.async_read_some(asio::buffer(ignored_), [self = self()](beast::error_code problem, size_t bytes) {
      self->ignored_bytes_ += bytes;
      if (problem || self->ignored_bytes_ > kMostBytes) return self->close();
      self->read_to_end();
    });
  }

  void close() {
    beast::error_code ignored;
    stream_.socket().shutdown(Tcp::socket::shutdown_send, ignored);
    stream_.close();
  }

  beast::tcp_stream stream_;
  ConnectionHost& host_;
  beast::flat_buffer buffer_{64 << 10};
  std::optional<RequestParser> parser_;
  http::response<http::span_body<const char>> response_;
  std::optional<http::response_serializer<http::span_body<const char>>> serializer_;
  WatchReply reply_;
  bool is_head_ = false;
  bool is_last_ = false;
  bool is_writing_ = false;
  uint64_t seen_ = 0;
  std::array<char, 1024> ignored_{};
  size_t ignored_bytes_ = 0;
};

}  // namespace

void set_limits(RequestParser& parser, const ServerLimits& limits) {
  parser.header_limit(static_cast<uint32_t>(limits.header_bytes));
  parser.body_limit(0);
}

WatchRequest plain_request(const http::request_header<>& header) {
  WatchRequest request{.method = std::string(header.method_string()), .target = std::string(header.target())};
  for (const auto& field : header) {
    std::string name(field.name_string());
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    std::string& value = request.headers[name];
    if (!value.empty()) value += '\n';
    value += std::string(field.value());
  }
  return request;
}

void start_connection(Tcp::socket socket, ConnectionHost& host) {
  std::make_shared<HttpConnection>(std::move(socket), host)->read();
}

}  // namespace batchplus
