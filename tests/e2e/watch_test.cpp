// The program that watches, and its page in a browser.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "store/run_directory.h"
#include "support/finished_run.h"
#include "support/http_client.h"
#include "support/live_browser.h"
#include "support/program.h"
#include "support/running.h"
#include "support/scratch.h"
#include "util/file.h"

namespace batchplus {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;
using testing::http_get;
using testing::LiveBrowser;
using testing::program;
using testing::Scratch;
using testing::wait_until;

/// So long the busiest machine may take.
constexpr double kSeconds = 600;

/// `batchplus watch` on a folder, until the end of the scope.
class Watching {
 public:
  explicit Watching(const fs::path& folder, std::vector<std::string> more = {}) : log_(scratch_ / "log") {
    more.insert(more.begin(), {"watch", folder.string(), "--json"});
    process_.emplace(program(more), log_);
    const bool is_told = wait_until(
        [&] {
          return (fs::exists(log_) && read_file(log_).find('\n') != std::string::npos) ||
                 process_->exit_code();
        },
        kSeconds);
    EXPECT_TRUE(is_told);
    const std::string line = read_file(log_);
    const json told = json::parse(line.substr(0, line.find('\n')), nullptr, false);
    EXPECT_TRUE(told.is_object()) << line;
    address_ = told.value("address", "");
    EXPECT_EQ(told.value("pid", 0), process_->id());
    port_ = std::atoi(address_.c_str() + address_.rfind(':') + 1);
  }
  const std::string& address() const { return address_; }
  int port() const { return port_; }
  ChildProcess& process() { return *process_; }
  json get(const std::string& target) const { return json::parse(http_get(port_, target).body); }

 private:
  Scratch scratch_;
  fs::path log_;
  std::optional<ChildProcess> process_;
  std::string address_;
  int port_ = 0;
};

TEST(Watch, PrintsItsAddressFirstAndEndsWithASignal) {
  const Scratch scratch;
  testing::write_run(scratch / "run", {});
  Watching watching(scratch.path());
  EXPECT_THAT(watching.address(), ::testing::MatchesRegex("http://127\\.0\\.0\\.1:[0-9]+/"));
  const json runs = watching.get("/api/runs");
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0]["status"], "done");
  EXPECT_EQ(watching.get("/api/runs/" + runs[0]["id"].get<std::string>())["records"].size(), 1U);
  watching.process().send(SIGTERM);
  EXPECT_EQ(testing::wait_for(watching.process()), 0);
}

TEST(Watch, RefusesWhatItCannotWatchOrListenOn) {
  const Scratch scratch;
  const ProcessResult nowhere = testing::batchplus({"watch", scratch / "nowhere"});
  EXPECT_EQ(nowhere.exit_code, 2);
  EXPECT_THAT(nowhere.output, HasSubstr("not a directory"));
  Watching watching(scratch.path());
  const ProcessResult taken =
      testing::batchplus({"watch", scratch.path(), "--port", std::to_string(watching.port())});
  EXPECT_EQ(taken.exit_code, 2);
  EXPECT_THAT(taken.output, HasSubstr("--port"));
  EXPECT_EQ(testing::batchplus({"watch", scratch.path(), "--host", "no.such.host.invalid"}).exit_code, 2);
  EXPECT_EQ(testing::batchplus({"watch", scratch.path(), "--port", "70000"}).exit_code, 2);
}

TEST(Watch, NeedsATokenElsewhere) {
  const Scratch scratch;
  Watching watching(scratch.path(), {"--host", "0.0.0.0"});
  const std::string token = watching.address().substr(watching.address().find("?token=") + 7);
  ASSERT_GE(token.size(), 32U);
  EXPECT_EQ(http_get(watching.port(), "/api/runs").status, 401);
  const testing::HttpAnswer visit = http_get(watching.port(), "/?token=" + token);
  EXPECT_EQ(visit.status, 303);
  const std::string cookie = visit.header("Set-Cookie");
  EXPECT_EQ(
      http_get(watching.port(), "/api/runs", "Cookie: " + cookie.substr(0, cookie.find(';')) + "\r\n").status,
      200);
}

// What is asked of the page: nothing is loaded from elsewhere, nothing is too wide for a phone, and a label
// is text.
constexpr const char* kIsWellBehaved = R"js(
  document.title !== 'stolen' && !document.querySelector('main script, #matrix b b')
  && document.documentElement.scrollWidth <= document.documentElement.clientWidth
  && performance.getEntriesByType('resource').every(entry => entry.name.startsWith(location.origin)))js";

TEST(WatchPage, TellsWhatIsWrongWithARunOnTop) {
  const Scratch scratch;
  testing::write_run(scratch / "runs" / "good", {});
  testing::write_run(scratch / "runs" / "bad", {.seed = 2});
  append_bytes(scratch / "runs" / "bad" / "status.json", "<img src=x onerror=\"document.title='stolen'\">");
  Watching watching(scratch / "runs");
  LiveBrowser browser;
  browser.open(watching.address());
  EXPECT_TRUE(browser.shows("document.querySelectorAll('#alerts .notice').length === 1"));
  EXPECT_TRUE(browser.shows("document.querySelector('#alerts .state').textContent === 'broken'"));
  browser.evaluate("document.querySelector('#alerts button').click()");
  EXPECT_TRUE(
      browser.shows("document.querySelector('#detail .trouble').textContent.includes('status.json')"));
  EXPECT_TRUE(browser.shows(kIsWellBehaved));
  EXPECT_TRUE(browser.shows("!document.querySelector('#detail img, #alerts img')"));
}

TEST(WatchPage, KeepsFewRowsOfThousandsOfRuns) {
  const Scratch scratch;
  // Copies have paths of their own, which is what tells runs apart here.
  testing::write_run(scratch / "runs" / "0", {});
  for (int i = 1; i < 1000; ++i) {
    const fs::path run = scratch / "runs" / std::to_string(i);
    fs::create_directory(run);
    for (const char* file : {"config.toml", "status.json", "metrics.jsonl"})
      fs::create_hard_link(scratch / "runs" / "0" / file, run / file);
  }
  Watching watching(scratch / "runs");
  LiveBrowser browser;
  browser.open(watching.address());
  EXPECT_TRUE(browser.shows("document.querySelector('.run-list').getAttribute('aria-rowcount') === '1000'"));
  EXPECT_TRUE(browser.shows("document.querySelectorAll('.run').length < 40"));
  browser.evaluate("document.querySelector('.run-list').scrollTop = 1e9");
  EXPECT_TRUE(browser.shows(
      "[...document.querySelectorAll('.run')].at(-1).getAttribute('aria-rowindex') === '1000'"));
}

TEST(WatchPage, DrawsTheExtremesOfMoreRecordsThanPixels) {
  const Scratch scratch;
  std::vector<double> accuracies(20'000, 50.0);
  accuracies[12'345] = 90;
  testing::write_run(scratch / "runs" / "run", {.test_accuracies = accuracies});
  Watching watching(scratch / "runs");
  LiveBrowser browser;
  browser.open(watching.address());
  EXPECT_TRUE(browser.shows("document.querySelectorAll('#charts .line').length > 0"));
  EXPECT_TRUE(browser.shows(
      R"js(keepExtremes([...Array(20000).keys()], i => (i === 12345 ? 90 : 50), 500).includes(12345)
    && keepExtremes([...Array(20000).keys()], i => i, 500).length <= 2000)js"));
}

}  // namespace
}  // namespace batchplus
