#include "util/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>

namespace batchplus {

void hold_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0) continue;
    // The lowest free number is this one. What cannot be written to tells of lost output.
    const bool is_output = stream == STDOUT_FILENO;
    if (::open("/dev/null", is_output ? O_RDONLY : O_RDWR) != stream) return;
  }
}

bool flush_standard_output() {
  std::cout.flush();
  const bool is_flushed = std::fflush(stdout) == 0;
  return is_flushed && std::cout.good() && std::ferror(stdout) == 0;
}

}  // namespace batchplus
