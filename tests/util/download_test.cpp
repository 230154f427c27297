#include "util/download.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/environment.h"
#include "support/expect_error.h"
#include "support/http_server.h"
#include "support/random_bytes.h"
#include "support/scratch.h"
#include "util/error.h"
#include "util/file.h"
#include "util/hash.h"

namespace batchplus {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using testing::Environment;
using testing::expect_error;
using ::testing::HasSubstr;
using testing::HttpReply;
using testing::HttpRequest;
using testing::HttpServer;
using testing::LocalPort;
using testing::random_bytes;
using testing::Scratch;

std::string md5_hex(std::string_view bytes) {
  Hash hash(HashKind::kMd5);
  hash.add(bytes);
  return hash.hex();
}

class Download : public ::testing::Test {
 protected:
  /// Brings what `url` serves to target(), where it must have the checksum of `expected`.
  void fetch(const std::string& url, std::string_view expected) {
    download({.url = url, .md5 = md5_hex(expected)}, target(), options_);
  }
  std::string ranges(const HttpServer& server) const {
    std::string text;
    for (const HttpRequest& request : server.requests()) text += "[" + request.range + "]";
    return text;
  }
  void leave_part(std::string_view bytes) const { write_file_atomically(part(), bytes); }
  fs::path target() const { return scratch_ / "archive.tar.gz"; }
  fs::path part() const { return scratch_ / "archive.tar.gz.part"; }
  bool has_only_the_target() const { return fs::exists(target()) && !fs::exists(part()); }

  Scratch scratch_;
  const std::string bytes_ = random_bytes(3000);
  std::vector<std::string> retries_;
  DownloadOptions options_{.attempts = 3,
                           .first_wait_seconds = 1e-4,
                           .on_retry = [this](const std::string& message) { retries_.push_back(message); }};

 private:
  // The machine's own proxies are not to be asked for 127.0.0.1.
  Environment http_proxy_{"http_proxy", nullptr};
  Environment all_proxy_{"all_proxy", nullptr};
  Environment upper_all_proxy_{"ALL_PROXY", nullptr};
  Environment no_proxy_{"no_proxy", nullptr};
  Environment upper_no_proxy_{"NO_PROXY", nullptr};
};

TEST_F(Download, BringsTheWholeFileWithOneRequest) {
  const HttpServer server("hello world");
  // The digest of md5sum, in the capitals that some publishers use.
  download({.url = server.url(), .md5 = "5EB63BBBE01EEED093CB22BB8F5ACDC3"}, target(), options_);
  EXPECT_EQ(read_file(target()), "hello world");
  EXPECT_TRUE(has_only_the_target());
  ASSERT_EQ(server.requests().size(), 1u);
  EXPECT_EQ(server.requests()[0].line, "GET /file HTTP/1.1");
  EXPECT_EQ(server.requests()[0].user_agent, "batchplus");
  EXPECT_EQ(server.requests()[0].range, "");
  EXPECT_TRUE(retries_.empty());
}

TEST_F(Download, BringsAnEmptyFile) {
  const HttpServer server("");
  fetch(server.url(), "");
  EXPECT_EQ(read_file(target()), "");
  EXPECT_TRUE(has_only_the_target());
}

TEST_F(Download, BringsAFileWhoseLengthTheServerDoesNotSay) {
  const HttpServer server(bytes_, {.says_length = false});
  std::vector<int64_t> totals;
  options_.on_progress = [&](int64_t, int64_t total) { totals.push_back(total); };
  fetch(server.url(), bytes_);
  EXPECT_EQ(read_file(target()), bytes_);
  ASSERT_GE(totals.size(), 2u);
  EXPECT_EQ(totals.front(), 0);
  EXPECT_EQ(totals.back(), 3000);
}

TEST_F(Download, ReportsProgressThatGrowsFromTheResumedBytesToTheTotal) {
  const std::string bytes = random_bytes(200'000);
  const HttpServer server(bytes);
  leave_part(bytes.substr(0, 50'000));
  std::vector<int64_t> done;
  options_.on_progress = [&](int64_t now, int64_t total) {
    done.push_back(now);
    EXPECT_EQ(total, 200'000);
  };
  fetch(server.url(), bytes);
  ASSERT_FALSE(done.empty());
  EXPECT_GT(done.front(), 50'000);
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
  EXPECT_EQ(done.back(), 200'000);
}

TEST_F(Download, LetsAnExceptionOfTheCallerThrough) {
  const HttpServer server(bytes_);
  options_.on_progress = [](int64_t, int64_t) { throw std::logic_error("stop"); };
  EXPECT_THROW(fetch(server.url(), bytes_), std::logic_error);
  EXPECT_TRUE(bytes_.starts_with(read_file(part())));
}

TEST_F(Download, ContinuesAfterCutConnectionsWhereTheServerAllowsIt) {
  const HttpServer server(bytes_, {}, {{.cut_after = 1000}, {.cut_after = 500}});
  fetch(server.url(), bytes_);
  EXPECT_EQ(read_file(target()), bytes_);
  EXPECT_TRUE(has_only_the_target());
  EXPECT_EQ(ranges(server), "[][bytes=1000-][bytes=1500-]");
  EXPECT_EQ(server.requests().back().answered_bytes, 1500u);
  ASSERT_EQ(retries_.size(), 2u);
  EXPECT_THAT(retries_[0], HasSubstr("trying again"));
}

TEST_F(Download, BeginsAgainAfterACutConnectionWhereTheServerCannotContinue) {
  const HttpServer server(
      bytes_, {.allows_ranges = false},
      {{.allows_ranges = false, .cut_after = 1000}, {.allows_ranges = false, .cut_after = 2000}});
  fetch(server.url(), bytes_);
  EXPECT_EQ(read_file(target()), bytes_);
  EXPECT_EQ(ranges(server), "[][bytes=1000-][bytes=2000-]");
  EXPECT_EQ(server.requests().back().answered_bytes, 3000u);
}

TEST_F(Download, GetsABigFileThroughMoreCutsThanAttempts) {
  const std::string bytes = random_bytes(3'000'000);
  const HttpServer server(bytes, {},
                          {{.cut_after = 1},
                           {.cut_after = 999'999},
                           {.cut_after = 16'384},
                           {.cut_after = 1'500'000},
                           {.cut_after = 7}});
  options_.attempts = 2;
  fetch(server.url(), bytes);
  // Not EXPECT_EQ, which would print both.
  EXPECT_TRUE(read_file(target()) == bytes);
  EXPECT_EQ(ranges(server), "[][bytes=1-][bytes=1000000-][bytes=1016384-][bytes=2516384-][bytes=2516391-]");
}

TEST_F(Download, GivesUpOnCutsThatNeverGetFurther) {
  const HttpServer server(bytes_, {.allows_ranges = false, .cut_after = 1000});
  expect_error([&] { fetch(server.url(), bytes_); }, {"cannot download", server.url(), "attempts: 3"});
  EXPECT_EQ(server.requests().size(), 3u);
  EXPECT_EQ(read_file(part()), bytes_.substr(0, 1000));
}

TEST_F(Download, ContinuesAPartialFileOfAnEarlierProcess) {
  const HttpServer server(bytes_);
  leave_part(bytes_.substr(0, 1234));
  fetch(server.url(), bytes_);
  EXPECT_EQ(read_file(target()), bytes_);
  EXPECT_TRUE(has_only_the_target());
  EXPECT_EQ(ranges(server), "[bytes=1234-]");
  EXPECT_EQ(server.requests()[0].answered_bytes, 3000u - 1234u);
}

TEST_F(Download, BeginsAgainOnceWhenTheContinuedFileIsWrong) {
  const HttpServer server(bytes_);
  leave_part("garbage of another file");
  fetch(server.url(), bytes_);
  EXPECT_EQ(read_file(target()), bytes_);
  EXPECT_EQ(ranges(server), "[bytes=23-][]");
  ASSERT_EQ(retries_.size(), 1u);
  EXPECT_THAT(retries_[0], HasSubstr("wrong checksum; beginning again"));
}

TEST_F(Download, AcceptsACompletePartialFileThatTheServerHasNothingToAddTo) {
  const HttpServer server(bytes_);
  leave_part(bytes_);
  std::vector<std::pair<int64_t, int64_t>> progress;
  options_.on_progress = [&](int64_t done, int64_t total) { progress.emplace_back(done, total); };
  fetch(server.url(), bytes_);
  EXPECT_EQ(read_file(target()), bytes_);
  EXPECT_TRUE(has_only_the_target());
  EXPECT_EQ(ranges(server), "[bytes=3000-]");
  EXPECT_THAT(progress, ElementsAre(std::pair<int64_t, int64_t>(3000, 3000)));
}

TEST_F(Download, BeginsAgainWhenThePartialFileIsLongerThanTheFile) {
  const HttpServer server(bytes_);
  leave_part(random_bytes(5000, 2));
  fetch(server.url(), bytes_);
  EXPECT_EQ(read_file(target()), bytes_);
  EXPECT_EQ(ranges(server), "[bytes=5000-][]");
}

TEST_F(Download, BeginsAgainWhenTheServerSendsAnotherRangeThanAskedFor) {
  for (const int64_t shift : {-10, 10}) {
    const HttpServer server(bytes_, {.range_shift = shift});
    leave_part(bytes_.substr(0, 1000));
    fetch(server.url(), bytes_);
    EXPECT_EQ(read_file(target()), bytes_);
    EXPECT_EQ(ranges(server), "[bytes=1000-][]");
  }
}

TEST_F(Download, AsksOnWhenTheServerSendsLessThanTheRange) {
  const HttpServer server(bytes_, {.range_limit = 1500});
  leave_part(bytes_.substr(0, 1000));
  fetch(server.url(), bytes_);
  EXPECT_EQ(read_file(target()), bytes_);
  EXPECT_EQ(ranges(server), "[bytes=1000-][bytes=2500-]");
}

TEST_F(Download, RefusesWrongBytesAndLeavesNothing) {
  const std::string other = "<html>please log in</html>";
  const HttpServer server(other);
  expect_error([&] { fetch(server.url(), bytes_); },
               {"wrong checksum", server.url(), md5_hex(other), md5_hex(bytes_), "proxy"});
  EXPECT_FALSE(fs::exists(target()));
  EXPECT_FALSE(fs::exists(part()));
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST_F(Download, RefusesWrongBytesAfterBeginningAgainOnce) {
  const HttpServer server(random_bytes(3000, 2));
  leave_part(bytes_.substr(0, 1000));
  expect_error([&] { fetch(server.url(), bytes_); }, {"wrong checksum"});
  EXPECT_FALSE(fs::exists(part()));
  EXPECT_EQ(ranges(server), "[bytes=1000-][]");
}

TEST_F(Download, KeepsAnOldTargetUntilAVerifiedOneReplacesIt) {
  write_file_atomically(target(), "old");
  {
    const HttpServer server("wrong");
    expect_error([&] { fetch(server.url(), bytes_); }, {"wrong checksum"});
    EXPECT_EQ(read_file(target()), "old");
  }
  const HttpServer server(bytes_);
  fetch(server.url(), bytes_);
  EXPECT_EQ(read_file(target()), bytes_);
}

TEST_F(Download, FailsAtOnceWhenTheServerDoesNotHaveTheFile) {
  const HttpServer server(bytes_, {.status = 404});
  try {
    fetch(server.url(), bytes_);
    ADD_FAILURE() << "expected an Error";
  } catch (const Error& problem) {
    EXPECT_EQ(problem.details().where, server.url());
    EXPECT_EQ(problem.details().value, "HTTP status 404");
    EXPECT_THAT(problem.details().hint, HasSubstr("{from}"));
    EXPECT_EQ(problem.exit_code(), Error::kFailure);
  }
  EXPECT_EQ(server.requests().size(), 1u);
  EXPECT_FALSE(fs::exists(part()));
}

TEST_F(Download, KeepsThePartialFileFreeOfErrorPages) {
  leave_part(bytes_.substr(0, 1000));
  for (const int status : {403, 404, 503}) {
    const HttpServer server(bytes_, {.status = status});
    expect_error([&] { fetch(server.url(), bytes_); }, {"HTTP status " + std::to_string(status)});
    EXPECT_EQ(read_file(part()), bytes_.substr(0, 1000));
  }
}

TEST_F(Download, TriesAgainWhenTheServerIsOverloaded) {
  for (const int status : {408, 429, 500, 503}) {
    const HttpServer server(bytes_, {}, {{.status = status}, {.status = status}});
    fetch(server.url(), bytes_);
    EXPECT_EQ(read_file(target()), bytes_);
    EXPECT_EQ(server.requests().size(), 3u);
    EXPECT_EQ(retries_.size(), 2u);
    retries_.clear();
  }
}

TEST_F(Download, TriesAgainWhenTheServerHangsUpWithoutAWord) {
  const HttpServer server(bytes_, {}, {{.status = 0}});
  fetch(server.url(), bytes_);
  EXPECT_EQ(read_file(target()), bytes_);
}

TEST_F(Download, GivesUpARefusedConnectionAfterTheAttempts) {
  const LocalPort closed;
  options_.attempts = 4;
  expect_error([&] { fetch(closed.address() + "/file", bytes_); },
               {"cannot download", closed.address(), "connect", "attempts: 4", "network"});
  EXPECT_EQ(retries_.size(), 3u);
  EXPECT_FALSE(fs::exists(target()));
  EXPECT_FALSE(fs::exists(part()));
}

TEST_F(Download, ContinuesWhenTheConnectionStalls) {
  // libcurl averages the speed over five seconds, so only a single byte looks like a stall at once.
  const HttpServer server(bytes_, {}, {{.cut_after = 1, .holds = true}});
  options_.stall_seconds = 1;
  fetch(server.url(), bytes_);
  EXPECT_EQ(read_file(target()), bytes_);
  EXPECT_EQ(ranges(server), "[][bytes=1-]");
}

TEST_F(Download, FollowsRedirects) {
  const HttpServer server(bytes_, {}, {{.status = 302, .location = "/elsewhere"}});
  fetch(server.url(), bytes_);
  EXPECT_EQ(read_file(target()), bytes_);
  ASSERT_EQ(server.requests().size(), 2u);
  EXPECT_EQ(server.requests()[1].line, "GET /elsewhere HTTP/1.1");
}

TEST_F(Download, ContinuesAcrossRedirects) {
  const HttpServer server(bytes_, {}, {{.status = 302, .location = "/elsewhere"}});
  leave_part(bytes_.substr(0, 1000));
  fetch(server.url(), bytes_);
  EXPECT_EQ(read_file(target()), bytes_);
  EXPECT_EQ(ranges(server), "[bytes=1000-][bytes=1000-]");
}

TEST_F(Download, TriesAgainWhenARedirectLeadsToARefusedConnection) {
  const LocalPort closed;
  const HttpServer server(bytes_, {}, {{.status = 302, .location = closed.address()}});
  fetch(server.url(), bytes_);
  EXPECT_EQ(read_file(target()), bytes_);
}

TEST_F(Download, GivesUpOnARingOfRedirects) {
  const HttpServer server(bytes_, {.status = 302, .location = "/again"});
  expect_error([&] { fetch(server.url(), bytes_); }, {"cannot download", "redirects"});
  EXPECT_EQ(server.requests().size(), 11u);
}

TEST_F(Download, KnowsNoOtherProtocolThanHttp) {
  write_file_atomically(scratch_ / "local", bytes_);
  const std::string local = "file://" + (scratch_ / "local").string();
  expect_error([&] { fetch(local, bytes_); }, {"cannot download", local, "Protocol \"file\""});
  const HttpServer server(bytes_, {.status = 302, .location = local});
  expect_error([&] { fetch(server.url(), bytes_); }, {"cannot download", server.url(), "Protocol \"file\""});
  EXPECT_TRUE(retries_.empty());
}

TEST_F(Download, AsksTheProxyOfTheEnvironment) {
  const HttpServer server(bytes_);
  const Environment proxy("http_proxy", server.address().c_str());
  fetch("http://example.invalid/file", bytes_);
  EXPECT_EQ(read_file(target()), bytes_);
  ASSERT_EQ(server.requests().size(), 1u);
  EXPECT_EQ(server.requests()[0].line, "GET http://example.invalid/file HTTP/1.1");
}

TEST_F(Download, NamesTheFileThatCannotBeWrittenBeforeAskingTheServer) {
  const HttpServer server(bytes_);
  write_file_atomically(scratch_ / "taken", "a file");
  expect_error(
      [&] {
        download({.url = server.url(), .md5 = md5_hex(bytes_)}, scratch_ / "taken" / "archive", options_);
      },
      {"cannot write", "taken/archive.part", "Not a directory"});
  EXPECT_TRUE(server.requests().empty());
}

TEST_F(Download, NamesTheFileWhenTheDiskIsFull) {
  const HttpServer server(bytes_);
  fs::create_symlink("/dev/full", part());
  expect_error([&] { fetch(server.url(), bytes_); }, {"cannot write", part().string(), "No space left"});
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST_F(Download, KeepsWhatArrivedBeforeTheDiskWasFull) {
  const HttpServer server(bytes_);
  const auto old_handler = ::signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit{};
  ::getrlimit(RLIMIT_FSIZE, &old_limit);
  rlimit limit = old_limit;
  // Holds for every file of the process, so nothing is printed before it is lifted again.
  limit.rlim_cur = 1000;
  ::setrlimit(RLIMIT_FSIZE, &limit);
  std::string message;
  try {
    fetch(server.url(), bytes_);
  } catch (const Error& problem) {
    message = problem.what();
  }
  ::setrlimit(RLIMIT_FSIZE, &old_limit);
  ::signal(SIGXFSZ, old_handler);
  EXPECT_THAT(message, HasSubstr(part().string()));
  EXPECT_EQ(read_file(part()), bytes_.substr(0, 1000));
  fetch(server.url(), bytes_);
  EXPECT_EQ(read_file(target()), bytes_);
  EXPECT_EQ(ranges(server), "[][bytes=1000-]");
}

TEST_F(Download, ContinuesWhatAKilledProcessLeft) {
  const HttpServer server(bytes_, {}, {{.cut_after = 1500, .holds = true}});
  int news[2];
  ASSERT_EQ(::pipe(news), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    options_.on_progress = [&](int64_t done, int64_t) {
      if (done == 1500) (void)!::write(news[1], "h", 1);
    };
    try {
      fetch(server.url(), bytes_);
    } catch (...) {
    }
    ::_exit(0);
  }
  ::close(news[1]);
  char half = 0;
  // Ends without a byte, and does not hang, if the child ends by itself.
  const ssize_t count = ::read(news[0], &half, 1);
  ::close(news[0]);
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_EQ(count, 1);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_FALSE(fs::exists(target()));
  EXPECT_EQ(read_file(part()), bytes_.substr(0, 1500));

  fetch(server.url(), bytes_);
  EXPECT_EQ(read_file(target()), bytes_);
  EXPECT_EQ(ranges(server), "[][bytes=1500-]");
  EXPECT_EQ(server.requests()[1].answered_bytes, 1500u);
}

}  // namespace
}  // namespace batchplus
