#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "formats/stored_tensor.h"

namespace batchplus::pickle {

struct Container;

/// None, and everything that a state dict does not need.
struct Nothing {};
/// What pickle would import: module and name, a line each.
struct Global {
  std::string_view name;
};
/// What a constructor or a type that is not understood would have made.
struct Unknown {
  std::string_view made_by;
};
/// A storage named by a persistent id.
struct Storage {
  ElementType type;
  std::string_view key;
  /// In elements: where it begins in the storage of this key, if it is a part of it.
  int64_t offset;
};
/// Small whatever it stands for, because two bytes of a pickle make a copy: texts are views of the pickle.
/// Storages, tensors and containers live in the machine's arenas, so that neither depth nor cycles matter
/// when they are destroyed.
using Value = std::variant<Nothing, bool, int64_t, double, std::string_view, Global, Unknown, const Storage*,
                           const StoredTensor*, Container*>;

struct Container {
  enum class Kind {
    kSequence,
    /// The items are keys and values in turn.
    kDict,
    /// A dict whose items are lists of a key and a value.
    kPairs
  };
  Kind kind = Kind::kSequence;
  std::vector<Value> items;
};

/// The stack machine of the pickle protocol, as far as torch.save uses it. It calls and imports nothing. What
/// it returns lives as long as the machine and the bytes.
class Machine {
 public:
  Machine(std::string_view bytes, size_t position, std::string where)
      : bytes_(bytes), where_(std::move(where)), position_(position) {}

  /// Runs one pickle to its end.
  Value run();
  size_t position() const { return position_; }
  /// The elements' type of each storage that the pickle names, by key.
  const std::map<std::string, ElementType>& storage_types() const { return storage_types_; }
  /// The same of storages whose type is not understood.
  const std::map<std::string, std::string>& unknown_types() const { return unknown_types_; }

 private:
  [[noreturn]] void fail(const std::string& what) const;
  void execute(uint8_t opcode);
  void call();

  std::string_view take(size_t count);
  template <class Integer>
  int64_t take_integer();
  std::string_view take_two_lines();
  int64_t take_long();
  double take_float();

  Value pop();
  void push(Value value) { stack_.push_back(std::move(value)); }
  std::vector<Value> pop_to_mark();
  std::vector<Value> pop_last(size_t count);
  Container* make(std::vector<Value> items, Container::Kind kind = Container::Kind::kSequence);
  void append(std::vector<Value> values);
  void remember(int64_t index);
  void recall(int64_t index);

  int64_t integer(const Value& value) const;
  const std::vector<Value>& sequence(const Value& value) const;
  std::vector<int64_t> integers(const Value& value) const;
  Value find_storage(const std::vector<Value>& id);
  Value rebuild_tensor(const std::vector<Value>& arguments);
  Value make_ordered_dict(const std::vector<Value>& arguments);

  std::string_view bytes_;
  std::string where_;
  size_t position_;
  std::map<std::string, ElementType> storage_types_;
  std::map<std::string, std::string> unknown_types_;
  std::vector<Value> stack_;
  std::vector<size_t> marks_;
  std::map<int64_t, Value> memo_;
  /// What values point to.
  std::deque<Container> containers_;
  std::deque<Storage> storages_;
  std::deque<StoredTensor> tensors_;
};

/// "torch._utils._rebuild_tensor" of its two lines in the pickle. A longer name than any real one is cut.
std::string dotted(std::string_view name);

}  // namespace batchplus::pickle
