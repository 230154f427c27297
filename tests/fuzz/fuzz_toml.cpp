#include "config/config_toml.h"
#include "fuzz/fuzz.h"
#include "util/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace batchplus;
  // A node of toml++'s tree, or a column of the table that finds the nearest key, for each byte.
  fuzz::run(size, {kMaximumInflation}, [&] {
    RunConfig config;
    parse_config(config, fuzz::text(data, size), "fuzz");
    const std::string written = to_toml(config);
    RunConfig again;
    try {
      parse_config(again, written, "written");
    } catch (const Error&) {
      BATCHPLUS_CHECK(false, "what to_toml writes can be read");
    }
    BATCHPLUS_CHECK(to_toml(again) == written, "a configuration survives writing and reading");
  });
  return 0;
}
