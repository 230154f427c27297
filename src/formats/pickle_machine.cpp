#include "formats/pickle_machine.h"

#include <fmt/format.h>

#include <cstring>

#include "util/error.h"

namespace batchplus::pickle {
namespace {

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

}  // namespace

Value Machine::run() {
  while (true) {
    const auto opcode = static_cast<uint8_t>(take(1)[0]);
    if (opcode == '.') return pop();
    execute(opcode);
  }
}

void Machine::fail(const std::string& what) const {
  throw Error("cannot read the weight file: " + what,
              {fmt::format("{}, pickle offset {}", where_, position_), "",
               "expected what torch.save(model.state_dict(), file) writes"});
}

void Machine::execute(uint8_t opcode) {
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
    case 0x85: push(make(pop_last(1))); break;              // TUPLE1
    case 0x86: push(make(pop_last(2))); break;              // TUPLE2
    case 0x87: push(make(pop_last(3))); break;              // TUPLE3
    case 'a': append(pop_last(1)); break;                   // APPEND
    case 's': append(pop_last(2)); break;                   // SETITEM
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

void Machine::call() {
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

std::string_view Machine::take(size_t count) {
  if (count > bytes_.size() - position_) fail("it ends early");
  const std::string_view part = bytes_.substr(position_, count);
  position_ += count;
  return part;
}

template <class Integer>
int64_t Machine::take_integer() {
  Integer number{};
  std::memcpy(&number, take(sizeof number).data(), sizeof number);
  return static_cast<int64_t>(number);
}

/// Up to the end of the second line from here.
std::string_view Machine::take_two_lines() {
  const size_t first = bytes_.find('\n', position_);
  const size_t second = first == std::string_view::npos ? first : bytes_.find('\n', first + 1);
  if (second == std::string_view::npos) fail("it ends early");
  const std::string_view lines = take(second - position_);
  take(1);
  return lines;
}

int64_t Machine::take_long() {
  const std::string_view digits = take(static_cast<size_t>(take_integer<uint8_t>()));
  if (digits.size() > sizeof(int64_t)) fail("a number is too large");
  const bool is_negative = !digits.empty() && (static_cast<uint8_t>(digits.back()) & 0x80) != 0;
  uint64_t number = is_negative ? ~uint64_t{0} : 0;
  std::memcpy(&number, digits.data(), digits.size());
  return static_cast<int64_t>(number);
}

double Machine::take_float() {
  uint64_t bits = 0;
  for (const char byte : take(8)) bits = bits << 8 | static_cast<uint8_t>(byte);
  double number = 0;
  std::memcpy(&number, &bits, sizeof number);
  return number;
}

Value Machine::pop() {
  if (stack_.empty() || (!marks_.empty() && marks_.back() == stack_.size())) fail("a value is missing");
  Value value = std::move(stack_.back());
  stack_.pop_back();
  return value;
}

std::vector<Value> Machine::pop_to_mark() {
  if (marks_.empty()) fail("a mark is missing");
  const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
  std::vector<Value> values(std::make_move_iterator(begin), std::make_move_iterator(stack_.end()));
  stack_.erase(begin, stack_.end());
  marks_.pop_back();
  return values;
}

std::vector<Value> Machine::pop_last(size_t count) {
  std::vector<Value> values(count);
  for (size_t i = count; i > 0; --i) values[i - 1] = pop();
  return values;
}

Container* Machine::make(std::vector<Value> items, bool is_dict) {
  containers_.push_back({is_dict, std::move(items)});
  return &containers_.back();
}

/// Adds to the container below, when there is one: an unrecognised object takes nothing.
void Machine::append(std::vector<Value> values) {
  if (stack_.empty()) fail("a value is missing");
  if (auto* const* container = std::get_if<Container*>(&stack_.back())) {
    auto& items = (*container)->items;
    items.insert(items.end(), std::make_move_iterator(values.begin()), std::make_move_iterator(values.end()));
  }
}

void Machine::remember(int64_t index) {
  if (stack_.empty()) fail("a value is missing");
  memo_[index] = stack_.back();
}

void Machine::recall(int64_t index) {
  const auto entry = memo_.find(index);
  if (entry == memo_.end()) fail("it refers to a value that was never stored");
  push(entry->second);
}

int64_t Machine::integer(const Value& value) const {
  const auto* number = std::get_if<int64_t>(&value);
  if (number == nullptr) fail("a whole number is missing");
  return *number;
}

const std::vector<Value>& Machine::sequence(const Value& value) const {
  auto* const* container = std::get_if<Container*>(&value);
  if (container == nullptr) fail("a tuple is missing");
  return (*container)->items;
}

std::vector<int64_t> Machine::integers(const Value& value) const {
  if (sequence(value).size() > kMostDimensions) fail("a tensor has too many dimensions");
  std::vector<int64_t> numbers;
  for (const auto& item : sequence(value)) numbers.push_back(integer(item));
  return numbers;
}

void Machine::push_storage() {
  const Value id = pop();
  const auto& parts = sequence(id);  // ("storage", type, key, device, elements, ...)
  if (parts.size() < 5) fail("a storage is described wrongly");
  const auto* type = std::get_if<Global>(&parts[1]);
  const auto* key = std::get_if<std::string_view>(&parts[2]);
  if (type == nullptr || key == nullptr || key->size() > kLongestKey) fail("a storage is described wrongly");
  const auto known = storage_types().find(type->name);
  if (known == storage_types().end())
    fail(
        fmt::format("storages of type '{}' are not supported", type->name.substr(type->name.find('\n') + 1)));
  storages_[std::string(*key)] = known->second;
  push(Storage{known->second, *key});
}

/// _rebuild_tensor_v2(storage, offset, sizes, strides, requires_grad, hooks)
const StoredTensor* Machine::rebuild_tensor(const std::vector<Value>& arguments) {
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

}  // namespace batchplus::pickle
