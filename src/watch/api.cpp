#include "watch/api.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <sstream>

#include "config/parse_toml.h"
#include "report/page.h"
#include "report/page_assets.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/hash.h"
#include "util/text.h"
#include "watch/access.h"

namespace batchplus {
namespace {

constexpr size_t kMostBytesOfRecords = 32 << 20;
constexpr size_t kRowsOfEvent = 250;
constexpr size_t kMostKeptReports = 16;

std::shared_ptr<const std::string> shared(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

WatchReply problem(int status, const std::string& what) {
  return {.status = status, .body = shared(text_of({{"error", what}}))};
}

WatchReply asset(const std::string& type, std::string_view text) {
  return {.content_type = type, .body = shared(std::string(text))};
}

bool is_id(std::string_view text) {
  constexpr size_t kDigits = 16;
  return text.size() == kDigits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

uint64_t whole_number(std::string_view text) {
  uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// config.toml as JSON: the same keys, and values of the same types.
Json json_of_toml(const std::string& text) {
  try {
    std::ostringstream stream;
    stream << toml::json_formatter{parse_toml(text, "config.toml")};
    return Json::parse(stream.str(), nullptr, /*allow_exceptions=*/false);
  } catch (const Error&) {
    return nullptr;
  }
}

/// Lines as a JSON list, from one of them on. Whatever is not JSON is left out.
std::string list_of_lines(std::string_view lines, uint64_t first) {
  std::string list = "[";
  uint64_t number = 0;
  for (size_t from = 0, end = 0; (end = lines.find('\n', from)) != std::string_view::npos; from = end + 1) {
    const std::string_view line = lines.substr(from, end - from);
    if (line.empty() || number++ < first || !Json::accept(line.begin(), line.end())) continue;
    if (list.size() > 1) list += ',';
    list += line;
  }
  return list + "]";
}

}  // namespace

WatchApi::WatchApi(const Watcher& watcher, std::string title)
    : watcher_(watcher), page_(shared(make_live_page(title))) {
  constexpr size_t kDigits = 8;
  boot_ = sha256_hex(fmt::format("{}{}", ::getpid(), utc_timestamp())).substr(0, kDigits);
}

std::optional<WatchReply> WatchApi::answer_at_once(const WatchRequest& request) const {
  const std::string path = path_of(request.target);
  if (path == "/") return WatchReply{.content_type = "text/html; charset=utf-8", .body = page_};
  if (path == "/page.css") return asset("text/css; charset=utf-8", kPageStyle);
  if (path == "/page.js") return asset("text/javascript; charset=utf-8", kPageScript);
  if (path != "/api/events") return std::nullopt;
  return WatchReply{.content_type = "text/event-stream",
                    .is_event_stream = true,
                    .since = version_of_event(request.header("last-event-id"))};
}

WatchReply WatchApi::answer(const WatchRequest& request) {
  if (auto reply = answer_at_once(request)) return std::move(*reply);
  watcher_.wait_for_first_look();
  const std::string path = path_of(request.target);
  if (path == "/api/runs") return runs();
  if (path == "/api/sweeps") return sweeps();
  if (path == "/api/report") return report(request.target);
  const std::string run_path = "/api/runs/";
  if (path.starts_with(run_path)) return run(path.substr(run_path.size()), request.target);
  return problem(404, "there is nothing here");
}

WatchReply WatchApi::runs() const {
  std::string list = "[";
  for (const WatchChanges::Row& row : watcher_.changes_since(0).rows) {
    if (list.size() > 1) list += ",\n";
    list += *row.summary;
  }
  return {.body = shared(list + "]\n")};
}

WatchReply WatchApi::run(const std::string& id, const std::string& target) const {
  if (!is_id(id)) return problem(404, "there is no such run");
  Json json;
  WatchedPlace place;
  int64_t record_bytes = 0;
  const bool is_there = watcher_.with_run(id, [&](const WatchedRun& run) {
    json = run.summary(static_cast<double>(std::time(nullptr)));
    json["status_file"] = run.status();
    place = run.place();
    record_bytes = run.record_bytes();
  });
  if (!is_there) return problem(404, "there is no such run");
  // Of large files the beginning: the page asks for what it has not seen.
  const auto bytes = std::min(kMostBytesOfRecords, static_cast<size_t>(record_bytes));
  const auto read = [&](const char* name, size_t most) {
    return place.folder->read_whole(place.relative / name, most);
  };
  const std::string config = read("config.toml", kMostBytesOfFile).value_or("");
  json["config"] = json_of_toml(config);
  json["config_toml"] = config;
  json["provenance"] = Json::parse(read("provenance.json", kMostBytesOfFile).value_or("null"), nullptr,
                                   /*allow_exceptions=*/false);
  if (json["provenance"].is_discarded()) json["provenance"] = nullptr;
  const auto records = place.folder->read(place.relative / "metrics.jsonl", 0, bytes);
  const uint64_t from = whole_number(query_value(target, "from").value_or("0"));
  std::string text = text_of(json);
  text.pop_back();
  return {.body = shared(text + ",\"records\":" +
                         list_of_lines(records ? std::string_view(records->bytes) : "", from) + "}\n")};
}

WatchReply WatchApi::sweeps() const {
  Json list = Json::array();
  for (const WatchedSweep& sweep : watcher_.sweeps()) {
    Json row = {{"id", sweep.id}, {"path", sweep.path().string()}};
    if (sweep.description) {
      row["name"] = sweep.description->name;
      row["title"] = sweep.description->title;
      row["scale"] = sweep.description->scale;
      row["runs"] = sweep.description->runs.size();
    } else {
      row["problem"] = sweep.problem;
    }
    list.push_back(std::move(row));
  }
  return {.body = shared(text_of(list) + "\n")};
}

WatchReply WatchApi::report(const std::string& target) {
  LiveSelection selection;
  selection.sweep = query_value(target, "sweep").value_or("");
  const std::string chosen = query_value(target, "runs").value_or("");
  if (!chosen.empty()) selection.runs = split(chosen, ',');
  if (!selection.sweep.empty() && !is_id(selection.sweep)) return problem(404, "there is no such sweep");
  for (const std::string& id : selection.runs) {
    if (!is_id(id)) return problem(404, "there is no such run");
  }
  // One at a time: what it takes is bounded, whoever asks.
  const std::lock_guard lock(reports_mutex_);
  static const Stopwatch since_start;
  const std::string key = selection.key();
  const auto kept = reports_.find(key);
  if (kept != reports_.end()) {
    constexpr double kTimesAsLong = 5;
    const double age = since_start.seconds() - kept->second.built_at;
    const bool is_fresh = kept->second.version == watcher_.version();
    if (is_fresh || (!has_ended_ && age < std::max(0.2, kTimesAsLong * kept->second.seconds))) {
      return {.body = kept->second.body, .headers = {{"Batchplus-Fresh", is_fresh ? "yes" : "no"}}};
    }
  }
  const uint64_t version = watcher_.version();
  const double start = since_start.seconds();
  std::shared_ptr<const std::string> body;
  try {
    body = shared(text_of(live_report(watcher_, selection)) + "\n");
  } catch (const Error& wrong) {
    return problem(409, wrong.what());
  }
  if (reports_.size() >= kMostKeptReports) reports_.clear();
  reports_[key] = {version, since_start.seconds(), since_start.seconds() - start, body};
  return {.body = body, .headers = {{"Batchplus-Fresh", "yes"}}};
}

uint64_t WatchApi::version_of_event(const std::string& id) const {
  if (!id.starts_with(boot_ + "-")) return 0;
  const uint64_t version = whole_number(std::string_view(id).substr(boot_.size() + 1));
  return version <= watcher_.version() ? version : 0;
}

std::shared_ptr<const std::string> WatchApi::events_since(uint64_t& version) {
  const std::lock_guard lock(events_mutex_);
  const uint64_t newest = watcher_.version();
  // Most readers have seen the same.
  if (events_ && version == events_from_ && newest == events_newest_) {
    version = events_to_;
    return events_;
  }
  // In pieces, so that little is kept for who is slow.
  const WatchChanges changes = watcher_.changes_since(version, kRowsOfEvent);
  std::string text;
  if (version == 0) text = fmt::format("retry: 2000\nevent: hello\ndata: {{\"boot\":\"{}\"}}\n\n", boot_);
  if (changes.has_new_sweeps || version == 0) text += "event: sweeps\ndata: {}\n\n";
  if (!changes.gone.empty()) text += fmt::format("event: gone\ndata: {}\n\n", Json(changes.gone).dump());
  if (!changes.rows.empty()) {
    std::string rows;
    for (const WatchChanges::Row& row : changes.rows) rows += (rows.empty() ? "" : ",") + *row.summary;
    text += fmt::format("event: runs\ndata: [{}]\n\n", rows);
  }
  text += fmt::format("event: seen\nid: {}-{}\ndata: {}\n\n", boot_, changes.version, changes.version);
  if (has_ended_ && changes.version >= newest) text += "event: end\ndata: {}\n\n";
  events_from_ = version;
  events_to_ = changes.version;
  events_newest_ = newest;
  version = changes.version;
  events_ = shared(std::move(text));
  return events_;
}

}  // namespace batchplus
