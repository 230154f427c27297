#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <memory>

#include "watch/access.h"
#include "watch/api.h"
#include "watch/server.h"

namespace batchplus {

class Connection;

/// What a connection asks of the server that it belongs to, always from the server's thread.
class ConnectionHost {
 public:
  virtual ~ConnectionHost() = default;
  virtual WatchApi& api() = 0;
  virtual const Access& access() const = 0;
  virtual const ServerLimits& limits() const = 0;
  /// Where replies are prepared.
  virtual boost::asio::thread_pool& workers() = 0;
  virtual void add(Connection& connection) = 0;
  virtual void remove(Connection& connection) = 0;
  /// False when there are too many already.
  virtual bool add_stream(Connection& connection) = 0;
};

/// One client: requests and replies by turns, then perhaps a stream of events. It lives as long as something
/// of it is under way, and every wait has an end.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  virtual ~Connection() = default;
  /// To a stream: what changed since it was last sent something, unless that is still on its way. So however
  /// slow a client is, one piece is kept for it.
  virtual void send_news() = 0;
  virtual void show_life() = 0;
};

using RequestParser = boost::beast::http::request_parser<boost::beast::http::empty_body>;
void set_limits(RequestParser& parser, const ServerLimits& limits);
WatchRequest plain_request(const boost::beast::http::request_header<>& header);

void start_connection(boost::asio::ip::tcp::socket socket, ConnectionHost& host);

}  // namespace batchplus
