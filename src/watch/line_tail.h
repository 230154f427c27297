#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "watch/given_folder.h"

namespace batchplus {

/// Reads a file that grows by whole lines from where it was left.
class LineTail {
 public:
  /// Takes a whole line; false: it cannot be used, and nothing more is read until the file is another one.
  using TakeLine = std::function<bool(std::string_view line)>;

  /// Hands out the lines that are new, and first calls `begin_again` where the file was replaced or cut
  /// short. A last line without its end is left for later. Returns whether something happened.
  bool update(const GivenFolder& folder, const std::filesystem::path& relative, const TakeLine& take,
              const std::function<void()>& begin_again);

  /// Of the file as last read.
  const std::optional<FileMark>& mark() const { return mark_; }
  /// The line that could not be used, counted from 1; 0: there is none.
  int64_t bad_line() const { return bad_line_; }
  /// Whether there is more to read at once.
  bool has_more() const { return has_more_; }
  /// Bytes of the lines that were handed out.
  int64_t taken_bytes() const { return offset_; }

 private:
  std::optional<FileMark> mark_;
  int64_t offset_ = 0;
  int64_t lines_ = 0;
  int64_t bad_line_ = 0;
  bool has_more_ = false;
};

}  // namespace batchplus
