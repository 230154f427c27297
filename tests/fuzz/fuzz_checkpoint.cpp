#include "fuzz/fuzz.h"
#include "store/checkpoint_file.h"
#include "util/error.h"
#include "util/json.h"

namespace {

/// As a run reads it: whatever the text is, it is parsed without an exception.
void parse_text(std::string_view text) {
  const auto state = batchplus::Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (state.is_object()) state.value("format_version", batchplus::Json());
}

}  // namespace

/// A file, or else the text of one alone: its checksum keeps mutated texts out.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace batchplus;
  const std::string_view bytes = fuzz::text(data, size);
  fuzz::run(size, {256, int64_t{1} << 19}, [&] {
    if (!bytes.starts_with("PK")) return parse_text(bytes);
    const CheckpointFile file = read_checkpoint_file(bytes, "fuzz");
    for (const StoredTensor& tensor : file.state.tensors) {
      BATCHPLUS_CHECK(tensor.name != kCheckpointText && tensor.name != kCheckpointSha256,
                      "text and checksum are no tensors");
      BATCHPLUS_CHECK(file.state.storages.contains(tensor.storage), "every tensor has its storage");
    }
    parse_text(file.text);
  });
  return 0;
}
