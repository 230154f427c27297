#include "watch/api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/sweep_file.h"
#include "report/page.h"
#include "support/finished_run.h"
#include "util/text.h"
#include "watch/access.h"
#include "watch/watch_tree.h"

namespace batchplus {
namespace {

namespace fs = std::filesystem;
using testing::begin_run;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::record_of;
using testing::Scratch;

Json json_at(WatchApi& api, const std::string& target, int status = 200) {
  const WatchReply reply = api.answer({.target = target});
  EXPECT_EQ(reply.status, status) << *reply.body;
  return Json::parse(*reply.body);
}

TEST(WatchApi, ListsRunsAndHandsOutOneAsItsFilesHaveIt) {
  const Scratch scratch;
  RunWriter run = begin_run(scratch / "run", "lr = 0.5\n");
  for (const int epoch : {1, 2, 3}) run.record(record_of(epoch));
  append_bytes(scratch / "run" / "metrics.jsonl", "{\"epoch\":");
  Watcher watcher({scratch.path()});
  watcher.look();
  WatchApi api(watcher, "runs");
  const Json list = json_at(api, "/api/runs");
  ASSERT_EQ(list.size(), 1U);
  for (const char* key : {"id", "path", "status", "progress"}) EXPECT_TRUE(list[0].contains(key)) << key;
  const std::string one = "/api/runs/" + list[0]["id"].get<std::string>();
  const Json detail = json_at(api, one);
  EXPECT_EQ(detail["config"]["lr"], 0.5);
  EXPECT_EQ(detail["config"]["seed"], 3);
  EXPECT_EQ(detail["config_toml"], read_file(scratch / "run" / "config.toml"));
  EXPECT_EQ(detail["provenance"]["processor"], "a processor");
  EXPECT_EQ(detail["status_file"]["status"], "running");
  EXPECT_EQ(detail["records"], Json::array({record_of(1), record_of(2), record_of(3)}));
  EXPECT_EQ(json_at(api, one + "?from=2")["records"], Json::array({record_of(3)}));
}

TEST(WatchApi, ServesNothingElse) {
  const Scratch scratch;
  testing::write_run(scratch / "run", {});
  write_file_atomically(scratch / "secret.txt", "secret");
  Watcher watcher({scratch.path()});
  watcher.look();
  WatchApi api(watcher, "runs");
  for (const std::string target :
       {"/secret.txt", "/../secret.txt", "/api/runs/../../secret.txt", "/api/runs/..%2f..%2fsecret.txt",
        "/api/runs/%2e%2e/secret.txt", "/run/config.toml", "/api/runs/", "/api/runs/0123456789abcdef",
        "/api/runs/0123456789ABCDEF", "//etc/passwd", "/api", "/page.js/", "/api/runs/run", "", "*",
        "http://127.0.0.1/api/runs"}) {
    const WatchReply reply = api.answer({.target = target});
    EXPECT_EQ(reply.status, 404) << target;
    EXPECT_THAT(*reply.body, Not(HasSubstr("secret"))) << target;
  }
  EXPECT_EQ(api.answer({.target = "/api/report?sweep=../../etc"}).status, 404);
  EXPECT_EQ(api.answer({.target = "/api/report?runs=a,b"}).status, 404);
}

TEST(WatchApi, EventsHoldWhatChangedSinceWhatWasSeen) {
  const Scratch scratch;
  RunWriter one = begin_run(scratch / "one");
  RunWriter two = begin_run(scratch / "two");
  Watcher watcher({scratch.path()});
  watcher.look();
  WatchApi api(watcher, "runs");
  uint64_t seen = 0;
  const std::string first = *api.events_since(seen);
  EXPECT_THAT(first, HasSubstr("event: hello"));
  EXPECT_THAT(first, HasSubstr("/one"));
  EXPECT_THAT(first, HasSubstr("/two"));
  EXPECT_EQ(seen, watcher.version());
  one.record(record_of(1));
  watcher.look();
  uint64_t other = seen;
  const auto next = api.events_since(seen);
  EXPECT_THAT(*next, HasSubstr("/one"));
  EXPECT_THAT(*next, Not(HasSubstr("/two")));
  EXPECT_EQ(api.events_since(other), next) << "who has seen the same gets the same text";
  const std::string id = next->substr(next->find("id: ") + 4, next->rfind("\ndata") - next->find("id: ") - 4);
  EXPECT_EQ(api.version_of_event(id), seen);
  EXPECT_EQ(api.version_of_event("00000000-3"), 0U) << "of another server";
  EXPECT_EQ(api.version_of_event("nonsense"), 0U);
}

TEST(WatchApi, SendsManyRunsInPieces) {
  const Scratch scratch;
  testing::write_run(scratch / "0", {});
  constexpr int kRuns = 600;
  for (int i = 1; i < kRuns; ++i) {
    fs::create_directory(scratch / std::to_string(i));
    for (const char* file : {"config.toml", "status.json", "metrics.jsonl"})
      fs::create_hard_link(scratch / "0" / file, scratch / std::to_string(i) / file);
  }
  Watcher watcher({scratch.path()});
  watcher.look();
  WatchApi api(watcher, "runs");
  std::set<std::string> seen;
  int pieces = 0;
  for (uint64_t version = 0; version < watcher.version(); ++pieces) {
    const std::string text = *api.events_since(version);
    EXPECT_EQ(text.find("event: hello") != std::string::npos, pieces == 0);
    const std::string mark = "event: runs\ndata: ";
    const size_t begin = text.find(mark) + mark.size();
    for (const Json& run : Json::parse(text.substr(begin, text.find('\n', begin) - begin)))
      EXPECT_TRUE(seen.insert(run["id"]).second) << "each comes once";
  }
  EXPECT_EQ(pieces, 3);
  EXPECT_EQ(seen.size(), static_cast<size_t>(kRuns));
}

TEST(WatchApi, ReportsASweepAsItFillsUp) {
  const Scratch scratch;
  SweepFile sweep{
      .name = "one", .title = "<script>alert(1)</script>", .scale = "full", .note = "", .settings = {}};
  sweep.axes = {{"method", {"<b>NAG</b>", "SGD"}}};
  for (const std::string label : {"<b>NAG</b>", "SGD"}) {
    for (const int64_t seed : {1, 2})
      sweep.runs.push_back(
          {label.substr(label.size() == 3 ? 0 : 3, 3) + std::to_string(seed), seed, {label}});
  }
  fs::create_directories(scratch / "sweep" / "runs");
  write_file_atomically(scratch / "sweep" / "sweep.json", to_json(sweep).dump());
  Watcher watcher({scratch.path()});
  watcher.look();
  WatchApi api(watcher, "runs");
  const Json sweeps = json_at(api, "/api/sweeps");
  ASSERT_EQ(sweeps.size(), 1U);
  EXPECT_EQ(sweeps[0]["title"], sweep.title);
  const std::string target = "/api/report?sweep=" + sweeps[0]["id"].get<std::string>();
  const Json empty = json_at(api, target);
  EXPECT_EQ(empty["grid"]["cells"].size(), 2U);
  EXPECT_EQ(empty["grid"]["cells"][0]["runs"].size(), 2U);
  EXPECT_EQ(empty["data"]["panels"].size(), 0U);

  testing::write_run(scratch / "sweep" / "runs" / "NAG1", {.seed = 1, .test_accuracies = {50, 60}});
  testing::write_run(scratch / "sweep" / "runs" / "NAG2", {.seed = 2, .test_accuracies = {52, 62}});
  RunWriter running = begin_run(scratch / "sweep" / "runs" / "SGD1");
  running.record(record_of(1));
  watcher.look();
  const WatchReply reply = WatchApi(watcher, "runs").answer({.target = target});
  const Json full = Json::parse(*reply.body);
  const Json& lines = full["data"]["panels"][0]["series"];
  ASSERT_EQ(lines.size(), 2U) << "the one that runs is drawn as far as it is";
  EXPECT_EQ(lines[0]["mean"], Json::array({51, 61}));
  EXPECT_EQ(lines[0]["n"], 2);
  EXPECT_EQ(lines[1]["mean"], Json::array({51}));
  const std::string tables = full["tables"];
  EXPECT_THAT(tables, HasSubstr("61.00 ± 1.41 (2)"));
  EXPECT_THAT(tables, HasSubstr("none of 2"));
  EXPECT_THAT(tables, HasSubstr("&lt;b&gt;NAG"));
  EXPECT_THAT(tables, Not(HasSubstr("<b>NAG")));
}

TEST(WatchApi, ComparesChosenRunsAndArrangesLooseOnes) {
  const Scratch scratch;
  for (const int64_t seed : {1, 2}) {
    testing::write_run(scratch / fmt::format("nag{}", seed), {.method = "nag", .seed = seed});
    testing::write_run(scratch / fmt::format("sgd{}", seed), {.method = "sgd", .seed = seed});
  }
  Watcher watcher({scratch.path()});
  watcher.look();
  WatchApi api(watcher, "runs");
  const Json loose = json_at(api, "/api/report");
  EXPECT_EQ(loose["data"]["series"], Json::array({"nag", "sgd"}));
  EXPECT_EQ(loose["grid"]["cells"][0]["runs"].size(), 2U);
  std::vector<std::string> chosen;
  for (const Json& run : json_at(api, "/api/runs")) chosen.push_back(run["id"]);
  const Json each = json_at(api, fmt::format("/api/report?runs={}", join(chosen, ",")));
  EXPECT_EQ(each["data"]["series"].size(), 4U);
}

TEST(WatchPage, IsTheReportsAndHoldsNoInlineScript) {
  const std::string page = make_live_page("a <b> & \"c\"");
  EXPECT_THAT(page, HasSubstr("<title>a &lt;b&gt; &amp; &quot;c&quot;</title>"));
  EXPECT_THAT(page, HasSubstr("<script src=\"page.js\">"));
  EXPECT_THAT(page, Not(HasSubstr("<style>")));
  EXPECT_THAT(page, Not(HasSubstr("style=")));
  EXPECT_THAT(page, Not(HasSubstr("<script>")));
}

// ---- who may read ----

WatchRequest asked_of(const std::string& host, const std::string& target = "/") {
  return {.target = target, .headers = {{"host", host}}};
}

int status_for(const Access& access, const WatchRequest& request) {
  const auto refused = access.refuse(request);
  return refused ? refused->status : 200;
}

TEST(Access, GoesByNamesOfThisMachineAlone) {
  const Access access("127.0.0.1", 8000);
  EXPECT_EQ(access.address(), "http://127.0.0.1:8000/");
  EXPECT_EQ(access.token(), "");
  for (const char* host :
       {"127.0.0.1", "127.0.0.1:8000", "localhost", "LOCALHOST:8000", "[::1]:8000", "127.1.2.3"})
    EXPECT_EQ(status_for(access, asked_of(host)), 200) << host;
  for (const char* host :
       {"evil.example", "evil.example:8000", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1",
        "[::2]", "0.0.0.0", "127.0.0.1@evil.example", "[", "]", ":"})
    EXPECT_EQ(status_for(access, asked_of(host)), 421) << host;
  EXPECT_EQ(status_for(access, {}), 400) << "without a Host";
  EXPECT_EQ(status_for(access, asked_of("localhost\nevil.example")), 400) << "with two";
}

TEST(Access, IsReadOnly) {
  const Access access("127.0.0.1", 8000);
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "get", ""}) {
    WatchRequest request = asked_of("localhost");
    request.method = method;
    EXPECT_EQ(status_for(access, request), 405) << method;
  }
}

TEST(Access, NeedsTheTokenElsewhereAndKeepsItInACookie) {
  const Access access("0.0.0.0", 8000);
  ASSERT_GE(access.token().size(), 32U);
  EXPECT_NE(Access("0.0.0.0", 8000).token(), access.token());
  EXPECT_THAT(access.address(), HasSubstr("?token=" + access.token()));
  for (const char* target : {"/", "/api/runs", "/api/events", "/page.js"})
    EXPECT_EQ(status_for(access, asked_of("10.1.2.3:8000", target)), 401) << target;
  EXPECT_EQ(status_for(access, asked_of("10.1.2.3", "/?token=" + access.token().substr(1))), 401);
  EXPECT_EQ(status_for(access, asked_of("10.1.2.3", "/?token=")), 401);
  EXPECT_EQ(status_for(access, asked_of("10.1.2.3", "/api/runs?token=" + access.token())), 401)
      << "only the first visit takes it from the address";
  const auto visit = access.refuse(asked_of("10.1.2.3", "/?token=" + access.token()));
  ASSERT_TRUE(visit);
  EXPECT_EQ(visit->status, 303);
  const std::map<std::string, std::string> headers(visit->headers.begin(), visit->headers.end());
  EXPECT_EQ(headers.at("Location"), "/");
  const std::string& cookie = headers.at("Set-Cookie");
  EXPECT_THAT(cookie, HasSubstr("HttpOnly; SameSite=Strict"));
  WatchRequest later = asked_of("10.1.2.3", "/api/runs");
  later.headers["cookie"] = "other=1; " + cookie.substr(0, cookie.find(';'));
  EXPECT_EQ(status_for(access, later), 200);
  later.headers["cookie"] = cookie.substr(0, cookie.find(';') - 1);
  EXPECT_EQ(status_for(access, later), 401);
  WatchRequest program = asked_of("10.1.2.3", "/api/runs");
  program.headers["authorization"] = "Bearer " + access.token();
  EXPECT_EQ(status_for(access, program), 200);
  EXPECT_EQ(status_for(access, asked_of("evil.example", "/?token=" + access.token())), 421)
      << "a name from elsewhere is refused with a token too";
}

TEST(Access, ComparesSecretsWhole) {
  EXPECT_TRUE(are_equal_secrets("abc", "abc"));
  EXPECT_FALSE(are_equal_secrets("abc", "abd"));
  EXPECT_FALSE(are_equal_secrets("abc", "ab"));
  EXPECT_FALSE(are_equal_secrets("", "abc"));
}

}  // namespace
}  // namespace batchplus
