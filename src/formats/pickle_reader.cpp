#include "formats/pickle_reader.h"

#include <fmt/format.h>

#include <cstring>
#include <deque>
#include <variant>

#include "util/error.h"

namespace batchplus {
namespace {

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

const std::map<std::string_view, ElementType>& storage_types() {
  static const std::map<std::string_view, ElementType> types = {
      {"torch\nFloatStorage", ElementType::kFloat32}, {"torch\nDoubleStorage", ElementType::kFloat64},
      {"torch\nHalfStorage", ElementType::kFloat16},  {"torch\nBFloat16Storage", ElementType::kBFloat16},
      {"torch\nLongStorage", ElementType::kInt64},    {"torch\nIntStorage", ElementType::kInt32},
      {"torch\nShortStorage", ElementType::kInt16},   {"torch\nCharStorage", ElementType::kInt8},
      {"torch\nByteStorage", ElementType::kUInt8},    {"torch\nBoolStorage", ElementType::kBool},
  };
  return types;
}

/// More than any network's tensor has.
constexpr size_t kMostDimensions = 64;
/// torch.save numbers its storages.
constexpr size_t kLongestKey = 64;

/// The stack machine of the pickle protocol.
class PickleMachine {
 public:
  PickleMachine(std::string_view bytes, size_t position, std::string where)
      : bytes_(bytes), where_(std::move(where)), position_(position) {}

  Value run() {
    while (true) {
      const auto opcode = static_cast<uint8_t>(take(1)[0]);
      if (opcode == '.') return pop();
      execute(opcode);
    }
  }

  size_t position() const { return position_; }
  const std::map<std::string, ElementType>& storages() const { return storages_; }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error("cannot read the weight file: " + what,
                {fmt::format("{}, pickle offset {}", where_, position_), "",
                 "expected what torch.save(model.state_dict(), file) writes"});
  }

  std::string_view take(size_t count) {
    if (count > bytes_.size() - position_) fail("it ends early");
    const std::string_view part = bytes_.substr(position_, count);
    position_ += count;
    return part;
  }

  template <class Integer>
  int64_t take_integer() {
    Integer number{};
    std::memcpy(&number, take(sizeof number).data(), sizeof number);
    return static_cast<int64_t>(number);
  }

  /// Up to the end of the second line from here.
  std::string_view take_two_lines() {
    const size_t first = bytes_.find('\n', position_);
    const size_t second = first == std::string_view::npos ? first : bytes_.find('\n', first + 1);
    if (second == std::string_view::npos) fail("it ends early");
    const std::string_view lines = take(second - position_);
    take(1);
    return lines;
  }

  Value pop() {
    if (stack_.empty() || (!marks_.empty() && marks_.back() == stack_.size())) fail("a value is missing");
    Value value = std::move(stack_.back());
    stack_.pop_back();
    return value;
  }

  void push(Value value) { stack_.push_back(std::move(value)); }

  std::vector<Value> pop_to_mark() {
    if (marks_.empty()) fail("a mark is missing");
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<Value> values(std::make_move_iterator(begin), std::make_move_iterator(stack_.end()));
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return values;
  }

  Container* make(std::vector<Value> items, bool is_dict = false) {
    arena_.push_back({is_dict, std::move(items)});
    return &arena_.back();
  }

  void push_tuple(size_t count) {
    std::vector<Value> items(count);
    for (size_t i = count; i > 0; --i) items[i - 1] = pop();
    push(make(std::move(items)));
  }

  /// Adds to the container below, when there is one: an unrecognised object takes nothing.
  void append(std::vector<Value> values) {
    if (stack_.empty()) fail("a value is missing");
    if (auto* const* container = std::get_if<Container*>(&stack_.back())) {
      auto& items = (*container)->items;
      items.insert(items.end(), std::make_move_iterator(values.begin()),
                   std::make_move_iterator(values.end()));
    }
  }

  void remember(int64_t index) {
    if (stack_.empty()) fail("a value is missing");
    memo_[index] = stack_.back();
  }

  void recall(int64_t index) {
    const auto entry = memo_.find(index);
    if (entry == memo_.end()) fail("it refers to a value that was never stored");
    push(entry->second);
  }

  int64_t integer(const Value& value) const {
    const auto* number = std::get_if<int64_t>(&value);
    if (number == nullptr) fail("a whole number is missing");
    return *number;
  }

  const std::vector<Value>& sequence(const Value& value) const {
    auto* const* container = std::get_if<Container*>(&value);
    if (container == nullptr) fail("a tuple is missing");
    return (*container)->items;
  }

  std::vector<int64_t> integers(const Value& value) const {
    if (sequence(value).size() > kMostDimensions) fail("a tensor has too many dimensions");
    std::vector<int64_t> numbers;
    for (const auto& item : sequence(value)) numbers.push_back(integer(item));
    return numbers;
  }

  void push_storage() {
    const Value id = pop();
    const auto& parts = sequence(id);  // ("storage", type, key, device, elements, ...)
    if (parts.size() < 5) fail("a storage is described wrongly");
    const auto* type = std::get_if<Global>(&parts[1]);
    const auto* key = std::get_if<std::string_view>(&parts[2]);
    if (type == nullptr || key == nullptr || key->size() > kLongestKey)
      fail("a storage is described wrongly");
    const auto known = storage_types().find(type->name);
    if (known == storage_types().end())
      fail(fmt::format("storages of type '{}' are not supported",
                       type->name.substr(type->name.find('\n') + 1)));
    storages_[std::string(*key)] = known->second;
    push(Storage{known->second, *key});
  }

  /// _rebuild_tensor_v2(storage, offset, sizes, strides, requires_grad, hooks)
  const StoredTensor* rebuild_tensor(const std::vector<Value>& arguments) {
    if (arguments.size() < 4) fail("a tensor is described wrongly");
    const auto* storage = std::get_if<Storage>(&arguments[0]);
    if (storage == nullptr) fail("a tensor has no storage");
    StoredTensor tensor{"",
                        storage->type,
                        std::string(storage->key),
                        integer(arguments[1]),
                        integers(arguments[2]),
                        integers(arguments[3])};
    if (tensor.sizes.size() != tensor.strides.size()) fail("a tensor is described wrongly");
    tensors_.push_back(std::move(tensor));
    return &tensors_.back();
  }

  void call() {
    const Value arguments = pop();
    const Value callee = pop();
    const auto* global = std::get_if<Global>(&callee);
    const std::string_view name = global == nullptr ? "" : global->name;
    if (name == "collections\nOrderedDict") {
      push(make({}, true));
    } else if (name == "torch._utils\n_rebuild_tensor_v2") {
      push(rebuild_tensor(sequence(arguments)));
    } else if (name == "torch._utils\n_rebuild_parameter" || name == "torch.jit._pickle\nrestore_type_tag") {
      const auto& values = sequence(arguments);  // the value first, then how it was wrapped
      push(values.empty() ? Value{} : values.front());
    } else {
      push(Nothing{});
    }
  }

  void execute(uint8_t opcode) {
    switch (opcode) {
      case 0x80: take(1); break;                              // PROTO
      case 0x95: take(8); break;                              // FRAME
      case '(': marks_.push_back(stack_.size()); break;       // MARK
      case '0': pop(); break;                                 // POP
      case 'N': push(Nothing{}); break;                       // NONE
      case 0x88: push(true); break;                           // NEWTRUE
      case 0x89: push(false); break;                          // NEWFALSE
      case 'J': push(take_integer<int32_t>()); break;         // BININT
      case 'K': push(take_integer<uint8_t>()); break;         // BININT1
      case 'M': push(take_integer<uint16_t>()); break;        // BININT2
      case 0x8a: push(take_long()); break;                    // LONG1
      case 'G': push(take_float()); break;                    // BINFLOAT
      case 'X': push(take(take_integer<uint32_t>())); break;  // BINUNICODE
      case 0x8c: push(take(take_integer<uint8_t>())); break;  // SHORT_BINUNICODE
      case 'U': push(take(take_integer<uint8_t>())); break;   // SHORT_BINSTRING
      case 'c': push(Global{take_two_lines()}); break;        // GLOBAL
      case ')': push(make({})); break;                        // EMPTY_TUPLE
      case ']': push(make({})); break;                        // EMPTY_LIST
      case '}': push(make({}, true)); break;                  // EMPTY_DICT
      case 't': push(make(pop_to_mark())); break;             // TUPLE
      case 0x85: push_tuple(1); break;                        // TUPLE1
      case 0x86: push_tuple(2); break;                        // TUPLE2
      case 0x87: push_tuple(3); break;                        // TUPLE3
      case 'a': append_last(1); break;                        // APPEND
      case 's': append_last(2); break;                        // SETITEM
      case 'e':
      case 'u': append(pop_to_mark()); break;                          // APPENDS, SETITEMS
      case 'q': remember(take_integer<uint8_t>()); break;              // BINPUT
      case 'r': remember(take_integer<uint32_t>()); break;             // LONG_BINPUT
      case 0x94: remember(static_cast<int64_t>(memo_.size())); break;  // MEMOIZE
      case 'h': recall(take_integer<uint8_t>()); break;                // BINGET
      case 'j': recall(take_integer<uint32_t>()); break;               // LONG_BINGET
      case 'Q': push_storage(); break;                                 // BINPERSID
      case 'R':
      case 0x81: call(); break;  // REDUCE, NEWOBJ
      case 'b': pop(); break;    // BUILD: attributes are not needed
      default: fail(fmt::format("unexpected opcode {:#04x}", opcode));
    }
  }

  void append_last(size_t count) {
    std::vector<Value> values(count);
    for (size_t i = count; i > 0; --i) values[i - 1] = pop();
    append(std::move(values));
  }

  int64_t take_long() {
    const std::string_view digits = take(static_cast<size_t>(take_integer<uint8_t>()));
    if (digits.size() > sizeof(int64_t)) fail("a number is too large");
    const bool is_negative = !digits.empty() && (static_cast<uint8_t>(digits.back()) & 0x80) != 0;
    uint64_t number = is_negative ? ~uint64_t{0} : 0;
    std::memcpy(&number, digits.data(), digits.size());
    return static_cast<int64_t>(number);
  }

  double take_float() {
    uint64_t bits = 0;
    for (const char byte : take(8)) bits = bits << 8 | static_cast<uint8_t>(byte);
    double number = 0;
    std::memcpy(&number, &bits, sizeof number);
    return number;
  }

  std::string_view bytes_;
  std::string where_;
  size_t position_;
  std::map<std::string, ElementType> storages_;
  std::vector<Value> stack_;
  std::vector<size_t> marks_;
  std::map<int64_t, Value> memo_;
  /// What values point to.
  std::deque<Container> arena_;
  std::deque<StoredTensor> tensors_;
};

const Container* as_dict(const Value& value) {
  auto* const* container = std::get_if<Container*>(&value);
  return container != nullptr && (*container)->is_dict ? *container : nullptr;
}

}  // namespace

PickledStateDict PickleReader::read_state_dict() {
  PickleMachine machine(bytes_, position_, where_);
  const Value top = machine.run();
  position_ = machine.position();
  const Container* dict = as_dict(top);
  if (dict == nullptr) {
    throw Error("the weight file does not hold a dictionary",
                {where_, "", "save model.state_dict(), not the model itself"});
  }
  const auto for_each = [](const Container& container, const auto& visit) {
    for (size_t i = 0; i + 1 < container.items.size(); i += 2) {
      if (const auto* key = std::get_if<std::string_view>(&container.items[i]))
        visit(*key, container.items[i + 1]);
    }
  };
  for_each(*dict, [&](std::string_view key, const Value& value) {
    if (key == "state_dict" && as_dict(value) != nullptr) dict = as_dict(value);
  });
  PickledStateDict state{{}, machine.storages()};
  std::map<std::string_view, size_t> indices;
  for_each(*dict, [&](std::string_view key, const Value& value) {
    if (auto* const* tensor = std::get_if<const StoredTensor*>(&value)) {
      // As in Python, a key that comes again replaces its value.
      const auto [index, is_new] = indices.try_emplace(key, state.tensors.size());
      if (is_new) state.tensors.emplace_back();
      state.tensors[index->second] = **tensor;
      state.tensors[index->second].name = key;
    }
  });
  return state;
}

std::vector<std::string_view> PickleReader::read_texts() {
  PickleMachine machine(bytes_, position_, where_);
  const Value top = machine.run();
  position_ = machine.position();
  std::vector<std::string_view> texts;
  if (auto* const* list = std::get_if<Container*>(&top)) {
    for (const Value& item : (*list)->items) {
      if (const auto* text = std::get_if<std::string_view>(&item)) texts.push_back(*text);
    }
  }
  return texts;
}

void PickleReader::skip() {
  PickleMachine machine(bytes_, position_, where_);
  machine.run();
  position_ = machine.position();
}

}  // namespace batchplus
