#include "watch/run_evidence.h"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "util/text.h"

namespace batchplus {
namespace {

template <typename Number>
std::optional<Number> whole_number(std::string_view text) {
  Number number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

std::string state_word(const RunEvidence& evidence) {
  if (evidence.has_failed) return "failed";
  if (evidence.is_broken) return "broken";
  if (evidence.word.empty()) return "waiting";
  if (evidence.word == "done" || evidence.word == "diverged") return evidence.word;
  if (evidence.holder == RunEvidence::Holder::kNobody) return "interrupted";
  // A process that goes on with an interrupted run says so when it has read its files.
  constexpr double kLeastSeconds = 120;
  constexpr double kTimesUsual = 5;
  const bool is_silent =
      evidence.quiet_seconds > std::max(kLeastSeconds, kTimesUsual * evidence.usual_seconds);
  if (is_silent) return "silent";
  if (evidence.word == "interrupted" && evidence.holder == RunEvidence::Holder::kElsewhere)
    return "interrupted";
  return "running";
}

bool is_final(const std::string& state) {
  return state == "done" || state == "diverged" || state == "failed";
}

std::set<std::pair<int64_t, uint64_t>> held_locks(const std::string& proc_locks) {
  std::set<std::pair<int64_t, uint64_t>> held;
  for (const std::string& line : split(proc_locks, '\n')) {
    // "3: FLOCK  ADVISORY  WRITE 11448 fe:00:1245506 0 EOF"; one that waits has "->" behind the number.
    std::istringstream words(line);
    std::string number, kind, advice, mode, process, file;
    if (!(words >> number >> kind >> advice >> mode >> process >> file)) continue;
    if (kind != "FLOCK" || mode != "WRITE") continue;
    const auto holder = whole_number<int64_t>(process);
    const auto inode = whole_number<uint64_t>(std::string_view(file).substr(file.rfind(':') + 1));
    if (holder && inode) held.insert({*holder, *inode});
  }
  return held;
}

std::optional<LockHolder> parse_lock_holder(const std::string& text) {
  std::istringstream words(text);
  std::string process, number, on, machine;
  if (!(words >> process >> number >> on >> machine) || process != "process" || on != "on")
    return std::nullopt;
  if (machine.ends_with(',')) machine.pop_back();
  const auto id = whole_number<int64_t>(number);
  if (!id) return std::nullopt;
  return LockHolder{*id, machine};
}

}  // namespace batchplus
