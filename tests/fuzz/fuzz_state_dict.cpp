#include "formats/state_dict_file.h"
#include "fuzz/fuzz.h"
#include "util/error.h"

namespace {

using namespace batchplus;

/// Bytes of the tensor; checks that its first and its last element lie within its storage.
int64_t check_tensor(const StoredTensor& tensor, const StorageSizes& storages) {
  const auto storage = storages.find(tensor.storage);
  BATCHPLUS_CHECK(storage != storages.end(), "a tensor's storage is in the file");
  BATCHPLUS_CHECK(tensor.sizes.size() == tensor.strides.size(), "every dimension has a stride");
  int64_t count = 1;
  int64_t last = tensor.offset;
  for (size_t d = 0; d < tensor.sizes.size(); ++d) {
    BATCHPLUS_CHECK(tensor.sizes[d] >= 0 && tensor.strides[d] >= 0, "sizes and strides are not negative");
    if (tensor.sizes[d] == 0) return 0;
  }
  for (size_t d = 0; d < tensor.sizes.size(); ++d) {
    count *= tensor.sizes[d];
    last += (tensor.sizes[d] - 1) * tensor.strides[d];
  }
  const int64_t bytes = element_bytes(tensor.type);
  BATCHPLUS_CHECK(tensor.offset >= 0 && tensor.offset <= last, "strides lead forwards");
  BATCHPLUS_CHECK((last + 1) * bytes <= storage->second, "the last element lies within the storage");
  return count * bytes;
}

void check_tensors(const std::vector<StoredTensor>& tensors, const StorageSizes& storages) {
  int64_t stored = 0;
  for (const auto& [key, bytes] : storages) stored += bytes;
  int64_t claimed = 0;
  for (const auto& tensor : tensors) claimed += check_tensor(tensor, storages);
  BATCHPLUS_CHECK(claimed <= 2 * stored + kMemoryBesideStorages,
                  "the tensors claim little more than twice the storages' bytes");
}

void read_file_of(std::string_view bytes) {
  const StateDictFile file = read_state_dict_file(bytes, "fuzz");
  StorageSizes sizes;
  for (const auto& [key, content] : file.storages) sizes[key] = static_cast<int64_t>(content.size());
  check_tensors(file.tensors, sizes);
}

void read_pickle_of(std::string_view bytes) {
  static const StorageSizes storages = {{"0", 0}, {"1", 4}, {"2", 96}, {"3", 1024}};
  const std::vector<StoredTensor> tensors = PickleReader(bytes, "fuzz").read_state_dict().tensors;
  require_within_storages(tensors, storages, "fuzz");
  check_tensors(tensors, storages);
}

}  // namespace

/// A zip archive or a file of the old layout, or else a pickle alone: the archive's checksums keep mutated
/// pickles out of its reader.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes = fuzz::text(data, size);
  // A byte of the pickle may be an object.
  const fuzz::Allowance allowance{256, int64_t{1} << 19};
  const bool is_file = bytes.starts_with("PK") || bytes.starts_with("\x80\x02\x8a\x0a");
  fuzz::run(size, allowance, [&] { is_file ? read_file_of(bytes) : read_pickle_of(bytes); });
  return 0;
}
