#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "formats/stored_tensor.h"

namespace batchplus {

/// Names of values and what made them, like "torch._utils._rebuild_qtensor", where that is not understood.
using UnknownValues = std::map<std::string, std::string>;

/// What a pickle says of a state dict, before its storages are known.
struct PickledStateDict {
  std::vector<StoredTensor> tensors;
  UnknownValues unknown;
  /// The elements' type of each storage that the pickle names, by key.
  std::map<std::string, ElementType> storage_types;
  /// The same of storages whose type is not understood.
  std::map<std::string, std::string> unknown_types;
  /// Whether the file holds tensors, and nothing else: no checkpoint around them, nothing beside them.
  bool is_all = true;
};

/// Reads one or more pickles, one behind the other: the part of the pickle protocol that torch.save writes
/// for dictionaries of tensors. Nothing is ever called or imported: the few constructors that occur are
/// recognised by name, and of every other object only the name of its constructor is kept. `where` names the
/// file in errors.
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

}  // namespace batchplus
