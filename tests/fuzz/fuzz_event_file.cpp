#include <cstring>
#include <filesystem>

#include "fuzz/fuzz.h"
#include "store/event_file.h"
#include "support/event_records.h"
#include "util/error.h"
#include "util/file.h"

/// A byte, the length of a tag; the tag; numbers of eight bytes each; what is left is a text. Whatever they
/// are, the file that comes of it can be read.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace batchplus;
  std::string_view rest = fuzz::text(data, size);
  const auto take = [&](size_t count) {
    const std::string_view taken = rest.substr(0, count);
    rest.remove_prefix(taken.size());
    return taken;
  };
  const std::string_view length = take(1);
  const std::string tag(take(length.empty() ? 0 : static_cast<uint8_t>(length[0])));
  std::vector<std::pair<std::string, double>> scalars;
  while (rest.size() >= sizeof(double)) {
    double number = 0;
    std::memcpy(&number, take(sizeof number).data(), sizeof number);
    scalars.emplace_back(tag, number);
  }
  const ScratchDirectory directory("/dev/shm");
  fuzz::run(size, {kMaximumInflation}, [&] {
    EventFile events(directory.path() / "events");
    events.resume(static_cast<int64_t>(size));
    events.add_scalars(1, scalars);
    events.add_text(tag, std::string(rest));
    const auto messages = testing::event_messages(read_file(events.path()));
    BATCHPLUS_CHECK(messages && messages->size() == 4, "every event can be read");
  });
  return 0;
}
