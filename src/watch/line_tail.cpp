#include "watch/line_tail.h"

namespace batchplus {
namespace {

/// At once, so that one run does not keep the others waiting. A longer line is not of a run.
constexpr size_t kMostBytes = 1 << 20;

}  // namespace

bool LineTail::update(const GivenFolder& folder, const std::filesystem::path& relative, const TakeLine& take,
                      const std::function<void()>& begin_again) {
  const std::optional<FileMark> present = folder.mark(relative);
  if (present == mark_ && !has_more_) return false;
  const auto start_over = [&] {
    *this = LineTail();
    begin_again();
  };
  const auto is_another = [&](const FileMark& found) {
    return mark_ && (!found.is_same_file(*mark_) || found.size < offset_);
  };
  if (!present) {
    const bool was_there = mark_.has_value();
    if (was_there) start_over();
    return was_there;
  }
  if (is_another(*present)) start_over();
  has_more_ = false;
  if (bad_line_ > 0) {
    mark_ = present;
    return false;
  }
  const auto piece = folder.read(relative, offset_, kMostBytes);
  if (!piece || is_another(piece->mark)) return false;
  // What was opened may be longer by now than what was looked at: then there is something left to read.
  mark_ = piece->mark;
  const std::string_view bytes = piece->bytes;
  size_t from = 0;
  for (size_t end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n', from)) {
    const std::string_view line = bytes.substr(from, end - from);
    ++lines_;
    if (!line.empty() && !take(line)) {
      bad_line_ = lines_;
      return true;
    }
    from = end + 1;
    offset_ += static_cast<int64_t>(line.size()) + 1;
  }
  if (from == 0 && bytes.size() == kMostBytes) {
    bad_line_ = lines_ + 1;
    return true;
  }
  has_more_ = bytes.size() == kMostBytes;
  return true;
}

}  // namespace batchplus
