#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace batchplus {

enum class ElementType {
  kFloat32,
  kFloat64,
  kFloat16,
  kBFloat16,
  kInt64,
  kInt32,
  kInt16,
  kInt8,
  kUInt8,
  kBool
};

int64_t element_bytes(ElementType type);

/// A tensor as a pickle describes it: a strided view of a storage.
struct StoredTensor {
  std::string name;
  ElementType type = ElementType::kFloat32;
  std::string storage;
  /// In elements, as are the strides.
  int64_t offset = 0;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
};

/// What a pickle says of a state dict, before its storages are known.
struct PickledStateDict {
  std::vector<StoredTensor> tensors;
  /// The elements' type of each storage that the pickle names, by key.
  std::map<std::string, ElementType> storages;
};

/// Reads one or more pickles, one behind the other: the part of the pickle protocol that torch.save writes
/// for dictionaries of tensors. Nothing is ever called or imported: the few constructors that occur are
/// recognised by name, and every other object becomes an empty value. `where` names the file in errors.
class PickleReader {
 public:
  PickleReader(std::string_view bytes, std::string where) : bytes_(bytes), where_(std::move(where)) {}

  /// A dictionary of tensors. One under the key "state_dict" is preferred to the outermost one.
  PickledStateDict read_state_dict();
  /// A list of texts, as views of the bytes: a text may be listed any number of times.
  std::vector<std::string_view> read_texts();
  /// Passes over a pickle, whatever it holds.
  void skip();
  /// How far it has read.
  size_t position() const { return position_; }

 private:
  std::string_view bytes_;
  std::string where_;
  size_t position_ = 0;
};

/// Bytes of each storage, by key.
using StorageSizes = std::map<std::string, int64_t>;

/// An Error unless every tensor lies within its storage and they claim at most twice the storages' bytes
/// together.
void require_within_storages(const std::vector<StoredTensor>& tensors, const StorageSizes& storages,
                             const std::string& where);

}  // namespace batchplus
