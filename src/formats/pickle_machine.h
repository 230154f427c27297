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
/// A storage named by a persistent id.
struct Storage {
  ElementType type;
  std::string_view key;
};
/// Small whatever it stands for, because two bytes of a pickle make a copy: texts are views of the pickle.
/// Tensors and containers live in the machine's arenas, so that neither depth nor cycles matter when they are
/// destroyed.
using Value = std::variant<Nothing, bool, int64_t, double, std::string_view, Global, Storage,
                           const StoredTensor*, Container*>;

struct Container {
  bool is_dict = false;
  /// A list's or tuple's items; a dict's keys and values in turn.
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
  const std::map<std::string, ElementType>& storages() const { return storages_; }

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
  Container* make(std::vector<Value> items, bool is_dict = false);
  void append(std::vector<Value> values);
  void remember(int64_t index);
  void recall(int64_t index);

  int64_t integer(const Value& value) const;
  const std::vector<Value>& sequence(const Value& value) const;
  std::vector<int64_t> integers(const Value& value) const;
  void push_storage();
  const StoredTensor* rebuild_tensor(const std::vector<Value>& arguments);

  std::string_view bytes_;
  std::string where_;
  size_t position_;
  std::map<std::string, ElementType> storages_;
  std::vector<Value> stack_;
  std::vector<size_t> marks_;
  std::map<int64_t, Value> memo_;
  /// What values point to.
  std::deque<Container> containers_;
  std::deque<StoredTensor> tensors_;
};

}  // namespace batchplus::pickle
