#include "util/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace batchplus {

bool can_redraw(int descriptor) {
  const char* kind = std::getenv("TERM");
  const bool is_dumb = kind == nullptr || *kind == '\0' || std::string_view(kind) == "dumb";
  return !is_dumb && ::isatty(descriptor) == 1;
}

size_t columns_of(int descriptor) {
  constexpr size_t kUsual = 80;
  winsize size{};
  const bool is_known = ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return is_known ? size.ws_col : kUsual;
}

std::string fit_line(const std::string& line, size_t columns) {
  size_t characters = 0;
  for (size_t at = 0; at < line.size(); ++at) {
    // Bytes of UTF-8 that go on with a character begin with 10.
    if ((static_cast<unsigned char>(line[at]) & 0xC0U) == 0x80U) continue;
    if (++characters >= columns) return line.substr(0, at);
  }
  return line;
}

}  // namespace batchplus
