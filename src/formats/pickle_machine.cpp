#include "formats/pickle_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "util/error.h"

namespace batchplus::pickle {
namespace {

const std::map<std::string_view, ElementType>& known_types() {
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
constexpr size_t kLongestName = 128;

/// What stands around a tensor, which is its first argument; what follows says how it is trained.
bool is_wrapper(std::string_view constructor) {
  static const std::set<std::string_view> wrappers = {
      "torch._utils\n_rebuild_parameter", "torch.jit._pickle\nrestore_type_tag",
      // before torch 1.1 and before 0.4
      "torch.nn.parameter\nParameter", "torch.autograd.variable\nVariable"};
  return wrappers.contains(constructor);
}

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
    case 0x80: take(1); break;                                // PROTO
    case 0x95: take(8); break;                                // FRAME
    case '(': marks_.push_back(stack_.size()); break;         // MARK
    case '0': pop(); break;                                   // POP
    case 'N': push(Nothing{}); break;                         // NONE
    case 0x88: push(true); break;                             // NEWTRUE
    case 0x89: push(false); break;                            // NEWFALSE
    case 'J': push(take_integer<int32_t>()); break;           // BININT
    case 'K': push(take_integer<uint8_t>()); break;           // BININT1
    case 'M': push(take_integer<uint16_t>()); break;          // BININT2
    case 0x8a: push(take_long()); break;                      // LONG1
    case 'G': push(take_float()); break;                      // BINFLOAT
    case 'X': push(take(take_integer<uint32_t>())); break;    // BINUNICODE
    case 0x8c: push(take(take_integer<uint8_t>())); break;    // SHORT_BINUNICODE
    case 'U': push(take(take_integer<uint8_t>())); break;     // SHORT_BINSTRING
    case 'T': push(take(take_integer<uint32_t>())); break;    // BINSTRING
    case 'c': push(Global{take_two_lines()}); break;          // GLOBAL
    case ')': push(make({})); break;                          // EMPTY_TUPLE
    case ']': push(make({})); break;                          // EMPTY_LIST
    case '}': push(make({}, Container::Kind::kDict)); break;  // EMPTY_DICT
    case 't': push(make(pop_to_mark())); break;               // TUPLE
    case 0x85: push(make(pop_last(1))); break;                // TUPLE1
    case 0x86: push(make(pop_last(2))); break;                // TUPLE2
    case 0x87: push(make(pop_last(3))); break;                // TUPLE3
    case 'a': append(pop_last(1)); break;                     // APPEND
    case 's': append(pop_last(2)); break;                     // SETITEM
    case 'e':
    case 'u': append(pop_to_mark()); break;                          // APPENDS, SETITEMS
    case 'q': remember(take_integer<uint8_t>()); break;              // BINPUT
    case 'r': remember(take_integer<uint32_t>()); break;             // LONG_BINPUT
    case 0x94: remember(static_cast<int64_t>(memo_.size())); break;  // MEMOIZE
    case 'h': recall(take_integer<uint8_t>()); break;                // BINGET
    case 'j': recall(take_integer<uint32_t>()); break;               // LONG_BINGET
    case 'Q': push(find_storage(sequence(pop()))); break;            // BINPERSID
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
  const std::string_view name = global == nullptr ? "something without a name" : global->name;
  if (name == "collections\nOrderedDict") {
    push(make_ordered_dict(sequence(arguments)));
  } else if (name == "torch._utils\n_rebuild_tensor_v2" || name == "torch._utils\n_rebuild_tensor") {
    push(rebuild_tensor(sequence(arguments)));
  } else if (is_wrapper(name) && !sequence(arguments).empty()) {
    push(sequence(arguments).front());
  } else {
    push(Unknown{name});
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

Container* Machine::make(std::vector<Value> items, Container::Kind kind) {
  containers_.push_back({kind, std::move(items)});
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

/// ("storage", type, key, device, elements) and, before torch 1.6, None or the part of that storage which is
/// meant: (its key, its first element, its elements). Or ("module", class, ...), in a model that was saved
/// whole.
Value Machine::find_storage(const std::vector<Value>& id) {
  constexpr size_t kPart = 5;
  const auto* tag = id.empty() ? nullptr : std::get_if<std::string_view>(&id[0]);
  if (id.size() > 1 && tag != nullptr && *tag == "module") return id[1];
  if (id.size() < kPart) fail("a storage is described wrongly");
  const auto* type = std::get_if<Global>(&id[1]);
  const auto* key = std::get_if<std::string_view>(&id[2]);
  if (type == nullptr || key == nullptr || key->size() > kLongestKey) fail("a storage is described wrongly");
  int64_t offset = 0;
  if (id.size() > kPart && !std::holds_alternative<Nothing>(id[kPart])) {
    const auto& part = sequence(id[kPart]);
    if (part.size() != 3) fail("a storage is described wrongly");
    offset = integer(part[1]);
    if (offset < 0) fail("a storage is described wrongly");
  }
  const auto known = known_types().find(type->name);
  if (known == known_types().end()) {
    unknown_types_[std::string(*key)] = dotted(type->name);
    return Unknown{type->name};
  }
  storage_types_[std::string(*key)] = known->second;
  storages_.push_back({known->second, *key, offset});
  return &storages_.back();
}

/// The last argument of _rebuild_tensor_v2, if torch 2 wrote it: a dictionary of what the bytes do not say of
/// the tensor, like {"neg": True}. False if there is something else in it.
bool read_metadata(const Value& value, StoredTensor& tensor) {
  if (std::holds_alternative<Nothing>(value)) return true;
  auto* const* metadata = std::get_if<Container*>(&value);
  if (metadata == nullptr || (*metadata)->kind != Container::Kind::kDict) return false;
  const std::vector<Value>& items = (*metadata)->items;
  for (size_t i = 0; i + 1 < items.size(); i += 2) {
    const auto* key = std::get_if<std::string_view>(&items[i]);
    const auto* is_set = std::get_if<bool>(&items[i + 1]);
    const bool is_understood = key != nullptr && is_set != nullptr && (!*is_set || *key == "neg");
    if (!is_understood || (*is_set && tensor.type == ElementType::kBool)) return false;
    if (*key == "neg") tensor.is_negated = *is_set;
  }
  return true;
}

/// _rebuild_tensor(storage, offset, sizes, strides); _rebuild_tensor_v2 has two more that do not matter here,
/// and perhaps metadata.
Value Machine::rebuild_tensor(const std::vector<Value>& arguments) {
  if (arguments.size() < 4) fail("a tensor is described wrongly");
  if (const auto* unknown = std::get_if<Unknown>(&arguments[0])) return *unknown;
  const auto* const* storage = std::get_if<const Storage*>(&arguments[0]);
  if (storage == nullptr) fail("a tensor has no storage");
  StoredTensor tensor{"", (*storage)->type,       std::string((*storage)->key),
                      0,  integers(arguments[2]), integers(arguments[3])};
  const bool is_too_large = __builtin_add_overflow((*storage)->offset, integer(arguments[1]), &tensor.offset);
  if (is_too_large || tensor.sizes.size() != tensor.strides.size()) fail("a tensor is described wrongly");
  constexpr size_t kMetadata = 6;
  if (arguments.size() > kMetadata && !read_metadata(arguments[kMetadata], tensor))
    return Unknown{"torch._utils\n_rebuild_tensor_v2 with metadata"};
  tensors_.push_back(std::move(tensor));
  return &tensors_.back();
}

/// Python 3 fills an empty one. Python 2 hands over a list of pairs, which is made the dict where it is: a
/// copy for each call that names it could grow beyond all bounds.
Value Machine::make_ordered_dict(const std::vector<Value>& arguments) {
  auto* const* given = arguments.empty() ? nullptr : std::get_if<Container*>(&arguments.front());
  if (given == nullptr) return make({}, Container::Kind::kDict);
  if ((*given)->kind == Container::Kind::kSequence) (*given)->kind = Container::Kind::kPairs;
  return *given;
}

std::string dotted(std::string_view name) {
  std::string text(name.substr(0, kLongestName));
  std::replace(text.begin(), text.end(), '\n', '.');
  return text;
}

}  // namespace batchplus::pickle
