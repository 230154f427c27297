#pragma once

#include <cstdint>
#include <map>
#include <string>
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

/// A tensor as a pickle describes it: a strided view of a storage. It is known to lie within the storage.
struct StoredTensor {
  std::string name;
  ElementType type = ElementType::kFloat32;
  std::string storage;
  /// In elements, as are the strides.
  int64_t offset = 0;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
};

/// Bytes of each storage, by key.
using StorageSizes = std::map<std::string, int64_t>;

/// Reads the tensors of a pickled state dict: the part of the pickle protocol that torch.save writes for
/// dictionaries of tensors. Nothing is ever called or imported: the few constructors that occur are
/// recognised by name, and every other object becomes an empty value. A dictionary under the key "state_dict"
/// is preferred to the outermost one. The tensors together claim at most twice the storages' bytes. `where`
/// names the file in errors.
std::vector<StoredTensor> read_pickled_state_dict(const std::string& pickle, const StorageSizes& storages,
                                                  const std::string& where);

}  // namespace batchplus
