#pragma once

#include <stdexcept>
#include <string>

namespace batchplus {

/// A user's mistake or a file that cannot be used: what is wrong, where, the value seen, and what to do.
/// Thrown anywhere, caught only by the command line's main, which exits with `exit_code`.
class Error : public std::runtime_error {
 public:
  /// `where` and `hint` may name keys of a config or a command in braces, "name one with {out}": the command
  /// line writes them as options, what() as plain words.
  struct Details {
    /// File with line or offset, or a key alone. May be empty.
    std::string where;
    /// The value seen. May be empty.
    std::string value;
    /// What to do about it. May be empty.
    std::string hint;
  };

  /// Exit code 2: bad usage, config or input file.
  static constexpr int kBadInput = 2;
  /// Exit code 1: the input was fine and something else failed.
  static constexpr int kFailure = 1;

  explicit Error(std::string what, Details details = {}, int exit_code = kBadInput);

  const std::string& summary() const { return summary_; }
  const Details& details() const { return details_; }
  int exit_code() const { return exit_code_; }

 private:
  std::string summary_;
  Details details_;
  int exit_code_;
};

/// Reports a broken promise between parts of the program and aborts.
[[noreturn]] void fail_check(const char* condition, const char* reason, const char* file, int line);

}  // namespace batchplus

/// A programmer's mistake, with the reason why the condition must hold.
#define BATCHPLUS_CHECK(condition, reason) \
  ((condition) ? (void)0 : ::batchplus::fail_check(#condition, reason, __FILE__, __LINE__))
