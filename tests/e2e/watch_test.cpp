// The program that watches, and its page in a browser.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
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
#include "support/smoke_runs.h"
#include "util/file.h"
#include "watch/watch_tree.h"

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

/// Waits for a process to end, as long as it takes.
int exit_code_of(ChildProcess& process) {
  wait_until([&] { return process.exit_code().has_value(); }, kSeconds);
  return process.exit_code().value_or(-1);
}

/// Every run of a sweep has its square, and all of them are in this state.
std::string all_squares_are(const std::string& state) {
  return fmt::format(
      "document.querySelectorAll('.square').length > 0 && "
      "[...document.querySelectorAll('.square')].every(square => square.classList.contains('state-{}'))",
      state);
}

/// Tables, curves, and a number in every cell of the grid.
constexpr const char* kHasResults = R"js(
  !document.getElementById('tables').hidden && document.querySelectorAll('#results td').length > 0
  && document.querySelectorAll('#charts .line').length > 0
  && [...document.querySelectorAll('.matrix .mean')].every(mean => mean.textContent.includes('(')))js";

fs::path made_folder(const fs::path& path) {
  fs::create_directory(path);
  return path;
}

/// A page of a folder in which nothing is yet.
struct PageOfNothing {
  PageOfNothing() {
    browser.open(watching.address());
    EXPECT_TRUE(
        browser.shows("document.querySelector('#list .note').textContent.includes('no runs here yet')"));
  }
  Scratch scratch;
  fs::path folder = made_folder(scratch / "runs");
  Watching watching{folder};
  LiveBrowser browser;
};

TEST(WatchPage, FillsUpWithASweepThatBeginsWhileItIsOpen) {
  PageOfNothing page;
  LiveBrowser& browser = page.browser;
  browser.evaluate("window.isTheSamePage = true");
  ChildProcess sweep(
      program({"sweep", testing::kSmokeSpec, "--out", page.folder / "smoke", "--quiet", "--json"}),
      page.scratch / "log");
  EXPECT_TRUE(browser.shows("document.querySelectorAll('.square.state-waiting').length > 0"));
  EXPECT_TRUE(browser.shows("document.querySelectorAll('.square.state-done').length > 0"));
  EXPECT_EQ(exit_code_of(sweep), 0) << read_file(page.scratch / "log");
  EXPECT_TRUE(browser.shows(all_squares_are("done")));
  EXPECT_TRUE(browser.shows(kHasResults));
  const auto runs = json::parse(read_file(page.folder / "smoke" / "sweep.json"))["runs"].size();
  EXPECT_EQ(browser.evaluate("document.querySelectorAll('.square').length"), runs);
  EXPECT_TRUE(browser.shows(kIsWellBehaved));
  EXPECT_EQ(browser.evaluate("window.isTheSamePage"), true) << "nobody loaded it again";
}

/// What a run's row said of its state, one after the other, from now on.
constexpr const char* kNoteStates = R"js(
  window.states = [];
  new MutationObserver(() => {
    const state = document.querySelector('.run .state')?.textContent;
    if (state && state !== window.states.at(-1)) window.states.push(state);
  }).observe(document.getElementById('list'), { childList: true, subtree: true, characterData: true }))js";

TEST(WatchPage, ShowsThatARunWasKilledAndGoesOn) {
  PageOfNothing page;
  LiveBrowser& browser = page.browser;
  browser.evaluate(kNoteStates);
  const fs::path run = page.folder / "run";
  const fs::path log = page.scratch / "log";
  const auto train = [&](const std::vector<std::string>& more) {
    return program(
        testing::with_options({"train", "--out", run.string(), "--quiet", "--threads", "1"}, more));
  };
  {
    ChildProcess killed(train({"--dataset", "synthetic", "--model", "mlp", "--train-limit", "6400",
                               "--test-limit", "100", "--epochs", "40", "--checkpoint-every", "1"}),
                        log);
    EXPECT_TRUE(browser.shows("document.querySelector('.run .state')?.textContent === 'running'"));
    ASSERT_TRUE(
        wait_until([&] { return fs::exists(run / "checkpoint.pt") || killed.exit_code(); }, kSeconds));
    killed.send(SIGKILL);
    EXPECT_EQ(exit_code_of(killed), 128 + SIGKILL) << read_file(log);
  }
  EXPECT_TRUE(browser.shows("document.querySelector('.run .state').textContent === 'interrupted'"));
  ChildProcess resumed(train({"--resume"}), log);
  EXPECT_EQ(exit_code_of(resumed), 0) << read_file(log);
  EXPECT_TRUE(browser.shows("document.querySelector('.run .state').textContent === 'done'"));
  EXPECT_EQ(browser.evaluate("window.states"), json({"running", "interrupted", "running", "done"}));
}

TEST(WatchPage, ShowsARecordThatIsAppended) {
  const Scratch scratch;
  RunWriter run = testing::begin_run(scratch / "runs" / "run");
  for (int epoch = 1; epoch <= 3; ++epoch) run.record(testing::record_of(epoch));
  Watching watching(scratch / "runs");
  LiveBrowser browser;
  browser.open(watching.address());
  EXPECT_TRUE(browser.shows("document.querySelector('.run')?.textContent.includes('epoch 3')"));
  browser.evaluate("document.querySelector('.run').click()");
  EXPECT_TRUE(browser.shows("document.getElementById('detail').textContent.includes('3 records')"));
  EXPECT_TRUE(browser.shows("data.panels?.[0].series[0].mean.length === 3"));
  run.record(testing::record_of(4));
  EXPECT_TRUE(browser.shows("document.querySelector('.run').textContent.includes('epoch 4')"));
  EXPECT_TRUE(browser.shows("document.getElementById('detail').textContent.includes('4 records')"));
  EXPECT_TRUE(browser.shows("data.panels[0].series[0].mean.length === 4")) << "the curve has a point more";
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

/// A sweep with --watch, until the end of the scope.
class WatchedSweep {
 public:
  explicit WatchedSweep(std::vector<std::string> more = {}) : log_(scratch_ / "log") {
    more.insert(more.begin(), {"sweep", testing::kSmokeSpec, "--out", out().string(), "--quiet", "--json",
                               "--threads", "1", "--watch"});
    process_.emplace(program(more), log_);
    wait_until([&] { return printed().find('\n') != std::string::npos || process_->exit_code(); }, kSeconds);
    const std::string line = printed().substr(0, printed().find('\n'));
    EXPECT_THAT(line, ::testing::MatchesRegex("Watch the sweep at http://127\\.0\\.0\\.1:[0-9]+/"));
    address_ = line.substr(std::min(line.size(), line.find("http")));
  }
  fs::path out() const { return scratch_ / "sweep"; }
  std::string printed() const { return fs::exists(log_) ? read_file(log_) : ""; }
  const std::string& address() const { return address_; }
  int port() const { return std::atoi(address_.c_str() + address_.rfind(':') + 1); }
  ChildProcess& process() { return *process_; }
  size_t count(const std::string& state) const {
    const json runs = json::parse(http_get(port(), "/api/runs").body, nullptr, false);
    return static_cast<size_t>(
        std::count_if(runs.begin(), runs.end(), [&](const json& run) { return run["status"] == state; }));
  }

 private:
  Scratch scratch_;
  fs::path log_;
  std::optional<ChildProcess> process_;
  std::string address_;
};

TEST(SweepWatch, ShowsTheSweepToItsEndAndEndsWithIt) {
  LiveBrowser browser;
  WatchedSweep sweep;
  browser.open(sweep.address());
  EXPECT_TRUE(browser.shows("document.querySelectorAll('.square').length > 0"));
  EXPECT_EQ(exit_code_of(sweep.process()), 0) << sweep.printed();
  // The page was given the last results before the server went.
  EXPECT_TRUE(browser.shows("document.getElementById('link').textContent.includes('the sweep ended')"));
  EXPECT_TRUE(browser.shows(all_squares_are("done")));
  EXPECT_TRUE(browser.shows(kHasResults));
  EXPECT_FALSE(testing::RawConnection(sweep.port()).is_open());
  const std::string printed = sweep.printed();
  const json result = json::parse(printed.substr(printed.find('\n') + 1));
  EXPECT_GT(result["done"], 0);
}

TEST(SweepWatch, StopsWithASignalWhoeverIsLooking) {
  WatchedSweep sweep;
  testing::RawConnection reader(sweep.port());
  reader.send(testing::http_request("/api/events"));
  reader.read_until("event: seen");
  ASSERT_TRUE(wait_until([&] { return sweep.count("running") > 0; }, kSeconds, 0.05));
  sweep.process().send(SIGTERM);
  EXPECT_EQ(exit_code_of(sweep.process()), 128 + SIGTERM) << sweep.printed();
  EXPECT_THAT(reader.read_until(""), HasSubstr("event: end"));
  EXPECT_TRUE(reader.has_ended());
}

TEST(SweepWatch, IsGoneWithAKilledSweep) {
  WatchedSweep sweep;
  ASSERT_TRUE(wait_until([&] { return sweep.count("running") > 0; }, kSeconds, 0.05));
  sweep.process().send(SIGKILL);
  EXPECT_EQ(exit_code_of(sweep.process()), 128 + SIGKILL);
  EXPECT_FALSE(testing::RawConnection(sweep.port()).is_open());
}

TEST(SweepWatch, RefusesAPortThatIsTakenBeforeAnythingRuns) {
  const Scratch scratch;
  Watching watching(scratch.path());
  const ProcessResult taken = testing::batchplus({"sweep", testing::kSmokeSpec, "--out", scratch / "sweep",
                                                  "--watch", "--port", std::to_string(watching.port())});
  EXPECT_EQ(taken.exit_code, 2);
  EXPECT_THAT(taken.output, HasSubstr("--port"));
  EXPECT_TRUE(fs::is_empty(scratch / "sweep" / "runs"));
}

TEST(SweepWatch, IsRefusedWhereNothingRunsOrNothingStays) {
  const Scratch scratch;
  for (const std::vector<std::string>& more : {std::vector<std::string>{"--watch", "--dry-run"},
                                               {"--watch", "--index", "0"},
                                               {"--watch", "--slurm"},
                                               {"--port", "8000"},
                                               {"--host", "0.0.0.0"},
                                               {"--open"}}) {
    std::vector<std::string> words = {"sweep", testing::kSmokeSpec, "--out", scratch / "sweep"};
    words.insert(words.end(), more.begin(), more.end());
    const ProcessResult refused = testing::batchplus(words);
    EXPECT_EQ(refused.exit_code, 2) << refused.output;
    EXPECT_THAT(refused.output, HasSubstr("--watch"));
  }
  EXPECT_FALSE(fs::exists(scratch / "sweep"));
}

}  // namespace
}  // namespace batchplus
