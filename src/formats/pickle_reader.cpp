#include "formats/pickle_reader.h"

#include "formats/pickle_machine.h"
#include "util/error.h"

namespace batchplus {
namespace {

using pickle::Container;
using pickle::Unknown;
using pickle::Value;

const Container* as_dict(const Value& value) {
  auto* const* container = std::get_if<Container*>(&value);
  const bool is_dict = container != nullptr && (*container)->kind != Container::Kind::kSequence;
  return is_dict ? *container : nullptr;
}

using Entry = std::pair<std::string_view, Value>;

/// Values under keys that are texts. As in Python, a key that comes again replaces its value.
std::vector<Entry> entries_of(const Container& dict) {
  std::vector<Entry> entries;
  std::map<std::string_view, size_t> indices;
  const auto add = [&](const Value& key, const Value& value) {
    const auto* text = std::get_if<std::string_view>(&key);
    if (text == nullptr) return;
    const auto [index, is_new] = indices.try_emplace(*text, entries.size());
    if (is_new) entries.emplace_back(*text, value);
    entries[index->second].second = value;
  };
  if (dict.kind == Container::Kind::kPairs) {
    for (const Value& item : dict.items) {
      auto* const* pair = std::get_if<Container*>(&item);
      if (pair != nullptr && (*pair)->items.size() == 2) add((*pair)->items[0], (*pair)->items[1]);
    }
  } else {
    for (size_t i = 0; i + 1 < dict.items.size(); i += 2) add(dict.items[i], dict.items[i + 1]);
  }
  return entries;
}

/// An Error that names what the value was made by, if it was made.
[[noreturn]] void fail_without_dictionary(const Value& value, const std::string& where) {
  const auto* unknown = std::get_if<Unknown>(&value);
  throw Error("the weight file does not hold a dictionary",
              {where, unknown == nullptr ? "" : "made by " + pickle::dotted(unknown->made_by),
               "save model.state_dict(), not the model itself"});
}

/// The outermost dictionary, or the one under "state_dict" in it.
const Container& find_state_dict(const Value& top, const std::string& where) {
  const Container* dict = as_dict(top);
  if (dict == nullptr) fail_without_dictionary(top, where);
  for (const auto& [key, value] : entries_of(*dict)) {
    if (key != "state_dict") continue;
    if (std::holds_alternative<Unknown>(value)) fail_without_dictionary(value, where);
    if (as_dict(value) != nullptr) return *as_dict(value);
  }
  return *dict;
}

}  // namespace

PickledStateDict PickleReader::read_state_dict() {
  pickle::Machine machine(bytes_, position_, where_);
  const Value top = machine.run();
  position_ = machine.position();
  PickledStateDict state{{}, {}, machine.storage_types(), machine.unknown_types()};
  const Container& dict = find_state_dict(top, where_);
  const std::vector<Entry> entries = entries_of(dict);
  for (const auto& [key, value] : entries) {
    if (auto* const* tensor = std::get_if<const StoredTensor*>(&value)) {
      state.tensors.push_back(**tensor);
      state.tensors.back().name = key;
    } else if (const auto* unknown = std::get_if<Unknown>(&value)) {
      state.unknown[std::string(key)] = pickle::dotted(unknown->made_by);
    }
  }
  state.is_all = &dict == as_dict(top) && !entries.empty() && state.tensors.size() == entries.size();
  return state;
}

std::vector<std::string_view> PickleReader::read_texts() {
  pickle::Machine machine(bytes_, position_, where_);
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
  pickle::Machine machine(bytes_, position_, where_);
  machine.run();
  position_ = machine.position();
}

}  // namespace batchplus
