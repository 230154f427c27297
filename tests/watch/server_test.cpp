#include "watch/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "support/finished_run.h"
#include "support/http_client.h"
#include "util/error.h"
#include "watch/connection.h"
#include "watch/watch_tree.h"

namespace batchplus {
namespace {

using testing::begin_run;
using ::testing::HasSubstr;
using testing::http_get;
using testing::http_request;
using testing::HttpAnswer;
using ::testing::Not;
using testing::RawConnection;
using testing::record_of;
using testing::Scratch;

/// Limits that a test reaches soon, and times that the busiest machine keeps.
constexpr ServerLimits kSmallLimits = {.connections = 40,
                                       .event_streams = 20,
                                       .header_bytes = 4096,
                                       .read_seconds = 600,
                                       .write_seconds = 600,
                                       .seconds_between_signs_of_life = 0.05};
/// The same, for those who wait for the end of a time.
constexpr ServerLimits kShortTimes = {.connections = 40, .read_seconds = 0.2};

/// A server on a free port, over a folder with one run.
class Served {
 public:
  explicit Served(ServerLimits limits = {}, const std::string& host = "127.0.0.1")
      : run(begin_run(scratch / "run")), watcher({scratch.path()}), api(watcher, "runs") {
    watcher.look();
    server.emplace(api, host, 0, limits);
    thread = std::thread([this] { server->run(); });
  }
  ~Served() {
    server->stop();
    thread.join();
  }
  int port() const { return server->port(); }
  /// As the watcher's thread does after a change.
  void look() {
    watcher.look();
    server->announce();
  }

  Scratch scratch;
  RunWriter run;
  Watcher watcher;
  WatchApi api;
  std::optional<WatchServer> server;
  std::thread thread;
};

TEST(WatchServer, AnswersWithTheHeadersThatKeepOthersOut) {
  Served served;
  for (const char* target : {"/", "/page.js", "/page.css", "/api/runs", "/nothing"}) {
    const HttpAnswer answer = http_get(served.port(), target);
    EXPECT_EQ(answer.status, std::string(target) == "/nothing" ? 404 : 200) << target;
    EXPECT_THAT(answer.header("Content-Security-Policy"), HasSubstr("default-src 'none'; script-src 'self'"));
    EXPECT_THAT(answer.header("Content-Security-Policy"), Not(HasSubstr("unsafe")));
    EXPECT_EQ(answer.header("X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(answer.header("Cross-Origin-Resource-Policy"), "same-origin");
    EXPECT_EQ(answer.header("Access-Control-Allow-Origin"), "");
  }
  EXPECT_EQ(http_get(served.port(), "/", "", "evil.example").status, 421);
}

TEST(WatchServer, KeepsAConnectionForSeveralRequestsAndAnswersHead) {
  Served served;
  RawConnection connection(served.port());
  connection.send(http_request("/api/runs") + http_request("/page.js"));
  EXPECT_EQ(Json::parse(connection.read_answer().body).size(), 1U);
  EXPECT_EQ(connection.read_answer().header("Content-Type"), "text/javascript; charset=utf-8");
  connection.send(http_request("/", "", "127.0.0.1", "HEAD") + http_request("/api/sweeps"));
  const HttpAnswer head = connection.read_answer(/*has_body=*/false);
  EXPECT_EQ(head.status, 200);
  EXPECT_NE(head.header("Content-Length"), "0");
  EXPECT_EQ(connection.read_answer().body, "[]\n");
}

TEST(WatchServer, SendsARecordToEveryStreamWhenItIsThere) {
  Served served;
  std::vector<std::unique_ptr<RawConnection>> readers;
  for (int i = 0; i < 200; ++i) {
    readers.push_back(std::make_unique<RawConnection>(served.port()));
    readers.back()->send(http_request("/api/events"));
  }
  for (auto& reader : readers) {
    EXPECT_THAT(reader->read_until("event: seen"), HasSubstr("\"records\":0"));
    reader->read_until("\n\n");
  }
  served.run.record(record_of(1));
  served.look();
  for (auto& reader : readers) EXPECT_THAT(reader->read_until("\"records\":1"), HasSubstr("\"records\":1"));
}

TEST(WatchServer, GoesOnWhereAReaderWasLeft) {
  Served served;
  std::string id;
  {
    RawConnection reader(served.port());
    reader.send(http_request("/api/events"));
    const std::string text = reader.read_until("event: seen\nid: ");
    reader.read_until("data: " + std::to_string(served.watcher.version()));
    const std::string all = reader.read_until("\ndata: ");
    const size_t begin = all.rfind("id: ") + 4;
    id = all.substr(begin, all.find('\n', begin) - begin);
  }
  served.run.record(record_of(1));
  served.look();
  RawConnection again(served.port());
  again.send(http_request("/api/events", "Last-Event-ID: " + id + "\r\n"));
  const std::string text = again.read_until("event: seen");
  EXPECT_THAT(text, Not(HasSubstr("event: hello")));
  EXPECT_THAT(text, HasSubstr("\"records\":1"));
}

TEST(WatchServer, HangsUpOnSilentAndSlowClientsAndServesOthersMeanwhile) {
  Served served(kShortTimes);
  RawConnection silent(served.port());
  RawConnection half(served.port());
  half.send("GET /api/runs HTTP/1.1\r\nHost: ");
  // On a busy machine a client like this one is slow, too.
  int status = 0;
  while (status != 200) status = http_get(served.port(), "/api/runs").status;
  EXPECT_EQ(silent.read_until(""), "");
  EXPECT_TRUE(silent.has_ended());
  EXPECT_EQ(half.read_until(""), "");
  EXPECT_TRUE(half.has_ended());
}

TEST(WatchServer, BoundsConnectionsAndStreams) {
  Served served(kSmallLimits);
  std::vector<std::unique_ptr<RawConnection>> streams;
  for (size_t i = 0; i < kSmallLimits.event_streams; ++i) {
    streams.push_back(std::make_unique<RawConnection>(served.port()));
    streams.back()->send(http_request("/api/events"));
    streams.back()->read_until("event: seen");
  }
  EXPECT_EQ(http_get(served.port(), "/api/events").status, 503);
  EXPECT_EQ(http_get(served.port(), "/api/runs").status, 200);
  while (streams.size() < kSmallLimits.connections) {
    streams.push_back(std::make_unique<RawConnection>(served.port()));
    streams.back()->send("GET ");
  }
  // More than there may be: hung up on, or those before have been.
  for (int i = 0; i < 100; ++i) RawConnection(served.port()).send("GET ");
  streams.clear();
  int status = 0;
  while (status != 200) status = http_get(served.port(), "/api/runs").status;
}

TEST(WatchServer, ShowsAStreamThatItLives) {
  Served served(kSmallLimits);
  RawConnection stream(served.port());
  stream.send(http_request("/api/events"));
  stream.read_until("event: seen");
  EXPECT_THAT(stream.read_until("\n:\n"), HasSubstr("\n:\n"));
}

TEST(WatchServer, RefusesWhatIsTooLongOrNoRequest) {
  Served served(kSmallLimits);
  const auto status_of = [&](const std::string& bytes) {
    RawConnection connection(served.port());
    connection.send(bytes);
    return connection.read_answer().status;
  };
  EXPECT_EQ(status_of("GET /" + std::string(5000, 'a') + " HTTP/1.1\r\nHost: localhost\r\n\r\n"), 431);
  EXPECT_EQ(status_of(http_request("/", "X: " + std::string(5000, 'a') + "\r\n")), 431);
  EXPECT_EQ(status_of("nonsense\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/9.9\r\n\r\n"), 400);
  EXPECT_EQ(status_of(http_request("/", "Content-Length: 5\r\n") + "hello"), 413);
  EXPECT_EQ(status_of(http_request("/", "Transfer-Encoding: chunked\r\n") + "5\r\nhello\r\n0\r\n\r\n"), 413);
  EXPECT_EQ(status_of(http_request("/", "Host: localhost\r\n")), 400);
  EXPECT_EQ(status_of(http_request("/..%2f..%2fetc/passwd")), 404);
  EXPECT_EQ(status_of(http_request("/../../etc/passwd")), 404);
}

TEST(WatchServer, SaysWhenItCannotListen) {
  Served served;
  EXPECT_THROW(WatchServer(served.api, "127.0.0.1", served.port()), Error);
  EXPECT_THROW(WatchServer(served.api, "no such host", 0), Error);
}

/// Pieces of requests in any order, and bytes of any kind.
std::string random_request(std::mt19937& random) {
  static const std::vector<std::string> kPieces = {"GET ",
                                                   "HEAD ",
                                                   "POST ",
                                                   "/",
                                                   "/api/runs",
                                                   "/api/runs/",
                                                   "/api/report?runs=",
                                                   "/api/report?sweep=",
                                                   "?from=",
                                                   "-1",
                                                   "99999999999999999999",
                                                   "..",
                                                   "%2e%2e%2f",
                                                   "%00",
                                                   "\\",
                                                   " HTTP/1.1",
                                                   " HTTP/1.0",
                                                   "\r\n",
                                                   "\n",
                                                   "\r\n\r\n",
                                                   "Host: localhost\r\n",
                                                   "Host: ",
                                                   "Cookie: a=b;;;=\r\n",
                                                   "Authorization: Bearer \r\n",
                                                   "Content-Length: ",
                                                   "Transfer-Encoding: chunked\r\n",
                                                   "Connection: close\r\n",
                                                   "Connection: upgrade\r\n",
                                                   "Expect: 100-continue\r\n",
                                                   "Range: bytes=0-5\r\n",
                                                   "0123456789abcdef",
                                                   ":",
                                                   ",",
                                                   "\t",
                                                   " ",
                                                   std::string(1, '\0'),
                                                   "\xff\xfe",
                                                   "é"};
  std::string text = random() % 2 == 0 ? "GET /api/runs HTTP/1.1\r\nHost: localhost\r\n" : "";
  for (auto count = random() % 12; count > 0; --count) {
    if (random() % 4 == 0) {
      text += static_cast<char>(random() % 256);
    } else {
      text += kPieces[random() % kPieces.size()];
    }
  }
  return text + "\r\n\r\n";
}

TEST(WatchServer, SurvivesRandomRequestsOverConnections) {
  Served served;
  constexpr unsigned kSeed = 23;
  std::mt19937 random(kSeed);
  constexpr int kRequests = 2000;
  for (int i = 0; i < kRequests; ++i) {
    RawConnection connection(served.port());
    ASSERT_TRUE(connection.is_open());
    connection.send(random_request(random));
    connection.finish();
    const std::string answer = connection.read_until("\r\n");
    EXPECT_TRUE(answer.empty() || answer.starts_with("HTTP/1.1 ")) << answer;
    EXPECT_THAT(answer, Not(HasSubstr(" 500 ")));
  }
  EXPECT_EQ(http_get(served.port(), "/api/runs").status, 200);
}

// What a connection does with the bytes that it gets, without the connection.
TEST(WatchServer, AnswersAHundredThousandRandomRequestsAndServesNothingElse) {
  const Scratch scratch;
  testing::write_run(scratch / "run", {});
  write_file_atomically(scratch / "secret.txt", "do not serve this");
  Watcher watcher({scratch.path()});
  watcher.look();
  WatchApi api(watcher, "runs");
  const Access open("127.0.0.1", 8000);
  const Access closed("0.0.0.0", 8000);
  constexpr unsigned kSeed = 24;
  std::mt19937 random(kSeed);
  constexpr int kRequests = 100'000;
  int answered = 0;
  for (int i = 0; i < kRequests; ++i) {
    const std::string text = random_request(random);
    boost::beast::http::request_parser<boost::beast::http::empty_body> parser;
    set_limits(parser, {});
    boost::beast::error_code problem;
    parser.put(boost::asio::buffer(text), problem);
    if (problem || !parser.is_header_done()) continue;
    const WatchRequest request = plain_request(parser.get());
    const auto refused = closed.refuse(request);
    ASSERT_TRUE(refused && refused->status >= 400) << text << " has no token";
    if (open.refuse(request)) continue;
    const WatchReply reply = api.answer(request);
    ++answered;
    EXPECT_TRUE(reply.status == 200 || reply.status == 404 || reply.status == 409) << reply.status << text;
    EXPECT_THAT(reply.body ? *reply.body : "", Not(HasSubstr("do not serve"))) << text;
  }
  EXPECT_GT(answered, kRequests / 100) << "some of them are requests";
}

}  // namespace
}  // namespace batchplus
