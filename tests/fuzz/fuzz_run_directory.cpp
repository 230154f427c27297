#include <fstream>

#include "fuzz/fuzz.h"
#include "store/run_directory.h"
#include "util/error.h"
#include "util/file.h"
#include "util/text.h"

/// status.json, config.toml, metrics.jsonl and provenance.json, with zero bytes between them.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace batchplus;
  static const ScratchDirectory directory("/dev/shm");
  const RunLayout layout{directory.path()};
  const auto files = split(fuzz::text(data, size), '\0');
  const std::filesystem::path paths[] = {layout.status(), layout.config(), layout.metrics(),
                                         layout.provenance()};
  for (size_t i = 0; i < std::size(paths); ++i) {
    std::ofstream(paths[i], std::ios::binary | std::ios::trunc) << (i < files.size() ? files[i] : "");
  }
  fuzz::run(size, {kMaximumInflation}, [&] {
    const std::string word = read_status_word(layout.root);
    const StoredRun run = read_run(layout.root);
    BATCHPLUS_CHECK(run.status["status"] == word, "both read the same status");
    BATCHPLUS_CHECK(run.config_toml == files.at(1), "the config is what the file holds");
  });
  return 0;
}
