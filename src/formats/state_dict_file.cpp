#include "formats/state_dict_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "util/error.h"

namespace batchplus {
namespace {

using namespace std::string_view_literals;

constexpr size_t kLongestShown = 16;
constexpr const char* kHint = "expected what torch.save(model.state_dict(), file) writes";

/// The pickled number that files of torch before 1.6 begin with.
constexpr std::string_view kLegacyMagic = "\x80\x02\x8a\x0al\xfc\x9c\x46\xf9\x20j\xa8P\x19."sv;

StorageSizes sizes_of(const ArchiveFiles& storages) {
  StorageSizes sizes;
  for (const auto& [key, bytes] : storages) sizes[key] = static_cast<int64_t>(bytes.size());
  return sizes;
}

/// Whether elements are stored with their highest byte first. Torch 2 says so in FOLDER/byteorder; before,
/// nothing does.
bool is_big_endian(const ArchiveFiles& entries, const std::string& folder, const std::string& where) {
  const auto entry = entries.find(folder + "byteorder");
  if (entry == entries.end() || entry->second == "little") return false;
  if (entry->second == "big") return true;
  throw Error("cannot read the weight file: its byte order is not understood",
              {where, entry->second.substr(0, kLongestShown), "expected 'little' or 'big' in 'byteorder'"});
}

/// Turns the bytes of every element round.
void reverse_elements(std::string& storage, size_t bytes) {
  for (size_t i = 0; i + bytes <= storage.size(); i += bytes)
    std::reverse(storage.data() + i, storage.data() + i + bytes);
}

/// A zip archive: FOLDER/data.pkl, FOLDER/data/KEY for each storage, and perhaps FOLDER/byteorder.
StateDictFile read_zip_layout(std::string_view bytes, const std::string& where) {
  ArchiveFiles entries = read_zip(bytes, where);
  constexpr std::string_view kPickle = "data.pkl";
  for (const auto& [name, pickle] : entries) {
    const bool is_pickle = name == kPickle || name.ends_with("/data.pkl");
    if (!is_pickle) continue;
    const std::string folder = name.substr(0, name.size() - kPickle.size());
    const std::string data = folder + "data/";
    StateDictFile file;
    for (auto& [entry, content] : entries) {
      if (entry.starts_with(data)) file.storages[entry.substr(data.size())] = std::move(content);
    }
    PickledStateDict state = PickleReader(pickle, where).read_state_dict();
    file.tensors = std::move(state.tensors);
    file.unknown = std::move(state.unknown);
    file.is_all = state.is_all;
    if (is_big_endian(entries, folder, where)) {
      for (const auto& [key, type] : state.storage_types) {
        if (const auto storage = file.storages.find(key); storage != file.storages.end())
          reverse_elements(storage->second, static_cast<size_t>(element_bytes(type)));
      }
    }
    return file;
  }
  throw Error("cannot read the weight file: no data.pkl in it", {where, "", kHint});
}

/// Pickles of a magic number, a version, the machine, the state dict and the storages' keys; then each
/// storage: its number of elements in 8 bytes, and the elements.
StateDictFile read_legacy_layout(std::string_view bytes, const std::string& where) {
  PickleReader reader(bytes.substr(kLegacyMagic.size()), where);
  reader.skip();
  reader.skip();
  PickledStateDict state = reader.read_state_dict();
  const std::vector<std::string_view> keys = reader.read_texts();
  StateDictFile file{{}, std::move(state.tensors), std::move(state.unknown), state.is_all};
  size_t position = kLegacyMagic.size() + reader.position();
  for (const std::string_view text : keys) {
    const std::string key(text);
    const auto fail = [&](const std::string& what) {
      throw Error("cannot read the weight file: " + what,
                  {fmt::format("{}, offset {}", where, position), key, kHint});
    };
    const auto type = state.storage_types.find(key);
    if (const auto unknown = state.unknown_types.find(key); unknown != state.unknown_types.end())
      fail(fmt::format("storages of type '{}' are not supported", unknown->second));
    if (type == state.storage_types.end()) fail("a storage belongs to no tensor");
    int64_t elements = 0;
    if (bytes.size() - position < sizeof elements) fail("it ends early");
    std::memcpy(&elements, bytes.data() + position, sizeof elements);
    position += sizeof elements;
    const auto left = static_cast<int64_t>(bytes.size() - position);
    if (elements < 0 || elements > left / element_bytes(type->second)) fail("it ends early");
    const auto size = static_cast<size_t>(elements * element_bytes(type->second));
    file.storages[key] = std::string(bytes.substr(position, size));
    position += size;
  }
  return file;
}

}  // namespace

StateDictFile read_state_dict_file(std::string_view bytes, const std::string& where) {
  const bool is_zip = bytes.starts_with("PK");
  if (!is_zip && !bytes.starts_with(kLegacyMagic))
    throw Error("cannot read the weight file: neither of torch.save's layouts", {where, "", kHint});
  StateDictFile file = is_zip ? read_zip_layout(bytes, where) : read_legacy_layout(bytes, where);
  require_within_storages(file.tensors, sizes_of(file.storages), where);
  return file;
}

std::string weights_sha256(const StateDictFile& file) {
  Hash hash;
  for (const StoredTensor& tensor : file.tensors) {
    add_tensor(hash, tensor.name, tensor.sizes, values_in_c_order(tensor, file.storages.at(tensor.storage)));
  }
  return hash.hex();
}

}  // namespace batchplus
