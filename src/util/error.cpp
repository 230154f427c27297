#include "util/error.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "util/text.h"

namespace batchplus {
namespace {

std::string render(const std::string& what, const Error::Details& details) {
  const auto plain = [](const std::string& text) {
    return name_keys(text, [](const std::string& key) { return key; });
  };
  std::string text = what;
  if (!details.where.empty()) text += "\n  where: " + plain(details.where);
  if (!details.value.empty()) text += "\n  value: " + details.value;
  if (!details.hint.empty()) text += "\n  hint:  " + plain(details.hint);
  return text;
}

}  // namespace

Error::Error(std::string what, Details details, int exit_code)
    : std::runtime_error(render(what, details)),
      summary_(std::move(what)),
      details_(std::move(details)),
      exit_code_(exit_code) {}

void fail_check(const char* condition, const char* reason, const char* file, int line) {
  fmt::print(stderr, "batchplus: internal check failed: {} ({}) at {}:{}\n", condition, reason, file, line);
  std::abort();
}

}  // namespace batchplus
