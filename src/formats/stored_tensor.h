#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "util/hash.h"

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
  /// The tensor is minus what is stored: torch's negative bit, which torch 2 saves.
  bool is_negated = false;
};

/// Bytes of each storage, by key.
using StorageSizes = std::map<std::string, int64_t>;

/// What the tensors of a file may claim beyond twice the bytes of its storages: an expanded tensor
/// (torch.zeros(1).expand(100)) has one element in the file.
inline constexpr int64_t kMemoryBesideStorages = int64_t{1} << 18;

/// An Error unless every tensor lies within its storage and they claim at most twice the storages' bytes
/// together, and a little.
void require_within_storages(const std::vector<StoredTensor>& tensors, const StorageSizes& storages,
                             const std::string& where);

/// The bytes of a tensor's values in C order, however it views its storage.
std::string values_in_c_order(const StoredTensor& tensor, std::string_view storage);

/// What weights_sha256 and a checkpoint's checksum are made of: name, shape and values, in C order.
void add_tensor(Hash& hash, std::string_view name, std::span<const int64_t> sizes, std::string_view values);

}  // namespace batchplus
