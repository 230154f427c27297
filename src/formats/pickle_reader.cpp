#include "formats/pickle_reader.h"

#include "formats/pickle_machine.h"
#include "util/error.h"

namespace batchplus {
namespace {

using pickle::Container;
using pickle::Value;

const Container* as_dict(const Value& value) {
  auto* const* container = std::get_if<Container*>(&value);
  return container != nullptr && (*container)->is_dict ? *container : nullptr;
}

}  // namespace

PickledStateDict PickleReader::read_state_dict() {
  pickle::Machine machine(bytes_, position_, where_);
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
