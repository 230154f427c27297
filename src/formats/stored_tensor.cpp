#include "formats/stored_tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "util/error.h"

namespace batchplus {
namespace {

/// Elements of a tensor that is larger than its storage: an empty one, or one whose elements share memory.
constexpr int64_t kMostBeyondStorage = int64_t{1} << 32;

/// Whether every element lies among the storage's `elements`.
bool lies_within(const StoredTensor& tensor, int64_t elements) {
  if (tensor.offset < 0 || tensor.offset > elements) return false;
  const auto& sizes = tensor.sizes;
  const bool is_empty = std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
  int64_t count = 1;
  int64_t last = tensor.offset;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const int64_t size = sizes[d];
    const int64_t stride = tensor.strides[d];
    if (size < 0 || stride < 0) return false;
    if (size == 0) continue;
    // Divisions, because products might not fit. An empty tensor's other sizes are bounded as well.
    const int64_t most = std::max(kMostBeyondStorage, elements);
    if (size > most || count > most / size) return false;
    count *= size;
    if (is_empty || size == 1) continue;
    if (stride > elements / (size - 1)) return false;
    last += (size - 1) * stride;
    if (last >= elements) return false;
  }
  return is_empty || last < elements;
}

}  // namespace

int64_t element_bytes(ElementType type) {
  switch (type) {
    case ElementType::kFloat64:
    case ElementType::kInt64: return 8;
    case ElementType::kFloat32:
    case ElementType::kInt32: return 4;
    case ElementType::kFloat16:
    case ElementType::kBFloat16:
    case ElementType::kInt16: return 2;
    case ElementType::kInt8:
    case ElementType::kUInt8:
    case ElementType::kBool: return 1;
  }
  BATCHPLUS_CHECK(false, "the switch covers every type");
}

void require_within_storages(const std::vector<StoredTensor>& tensors, const StorageSizes& storages,
                             const std::string& where) {
  const auto fail = [&](const std::string& what, const StoredTensor& tensor, const std::string& hint) {
    throw Error("cannot read the weight file: " + what, {where, tensor.name, hint});
  };
  constexpr int64_t kMostSharing = 2;
  int64_t left = kMemoryBesideStorages;
  for (const auto& [key, bytes] : storages) left += kMostSharing * bytes;
  for (const StoredTensor& tensor : tensors) {
    const auto storage = storages.find(tensor.storage);
    if (storage == storages.end())
      fail(fmt::format("storage '{}' is missing", tensor.storage), tensor, "the file is incomplete");
    if (!lies_within(tensor, storage->second / element_bytes(tensor.type)))
      fail("a tensor does not fit its storage", tensor, "the file is damaged");
    // Tensors may share a storage, but not so that a small file becomes a large allocation.
    const bool is_empty = std::find(tensor.sizes.begin(), tensor.sizes.end(), 0) != tensor.sizes.end();
    int64_t bytes = is_empty ? 0 : element_bytes(tensor.type);
    for (const int64_t size : tensor.sizes) bytes *= size;
    left -= bytes;
    if (left < 0)
      fail("its tensors claim more memory than the file has", tensor,
           "save tensors whose elements do not share memory: tensor.expand(...).clone()");
  }
}

namespace {

/// Turns the sign of every element, as torch's neg() does: the first bit of a floating-point number, the
/// two's complement of an integer.
void negate(std::string& values, ElementType type) {
  const auto width = static_cast<size_t>(element_bytes(type));
  const bool is_floating = type == ElementType::kFloat32 || type == ElementType::kFloat64 ||
                           type == ElementType::kFloat16 || type == ElementType::kBFloat16;
  for (size_t at = 0; at < values.size(); at += width) {
    if (is_floating) {
      values[at + width - 1] = static_cast<char>(values[at + width - 1] ^ 0x80);
      continue;
    }
    unsigned carry = 1;
    for (size_t i = at; i < at + width; ++i) {
      const unsigned byte = (~static_cast<unsigned>(values[i]) & 0xffU) + carry;
      values[i] = static_cast<char>(byte & 0xffU);
      carry = byte >> 8U;
    }
  }
}

}  // namespace

std::string values_in_c_order(const StoredTensor& tensor, std::string_view storage) {
  int64_t count = 1;
  for (const int64_t size : tensor.sizes) count *= size;
  const auto width = static_cast<size_t>(element_bytes(tensor.type));
  std::string values;
  values.reserve(static_cast<size_t>(count) * width);
  std::vector<int64_t> place(tensor.sizes.size(), 0);
  int64_t at = tensor.offset;
  for (int64_t i = 0; i < count; ++i) {
    values.append(storage.substr(static_cast<size_t>(at) * width, width));
    // The last dimension is the fastest; one that is full begins again.
    for (size_t d = place.size(); d-- > 0;) {
      at += tensor.strides[d];
      if (++place[d] < tensor.sizes[d]) break;
      at -= tensor.strides[d] * tensor.sizes[d];
      place[d] = 0;
    }
  }
  if (tensor.is_negated) negate(values, tensor.type);
  return values;
}

void add_tensor(Hash& hash, std::string_view name, std::span<const int64_t> sizes, std::string_view values) {
  hash.add(fmt::format("{} [{}] ", name, fmt::join(sizes, ",")));
  hash.add(values);
}

}  // namespace batchplus
