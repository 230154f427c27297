#include "store/checkpoint_file.h"

#include <algorithm>
#include <optional>

#include "util/error.h"

namespace batchplus {
namespace {

[[noreturn]] void fail(const std::string& what, const std::string& where, const std::string& value = "") {
  throw Error("cannot read the checkpoint: " + what,
              {where, value, "the file is damaged or not a checkpoint"});
}

/// The values of a tensor that lies in C order in its storage, as ours do.
std::string_view values_of(const StoredTensor& tensor, const StateDictFile& file, const std::string& where) {
  if (tensor.is_negated) fail("a tensor is stored with the other sign", where, tensor.name);
  int64_t count = 1;
  for (size_t d = tensor.sizes.size(); d-- > 0;) {
    if (tensor.sizes[d] != 1 && tensor.strides[d] != count)
      fail("a tensor is not in C order", where, tensor.name);
    count *= tensor.sizes[d];
  }
  const int64_t width = element_bytes(tensor.type);
  return std::string_view(file.storages.at(tensor.storage))
      .substr(static_cast<size_t>(tensor.offset * width), static_cast<size_t>(count * width));
}

}  // namespace

CheckpointFile read_checkpoint_file(std::string_view bytes, const std::string& where) {
  CheckpointFile checkpoint;
  checkpoint.state = read_state_dict_file(bytes, where);
  std::vector<StoredTensor> tensors;
  std::optional<std::string> text;
  std::string claimed;
  Hash hash;
  for (StoredTensor& tensor : checkpoint.state.tensors) {
    const std::string_view values = values_of(tensor, checkpoint.state, where);
    if (tensor.name == kCheckpointSha256) {
      claimed = values;
      continue;
    }
    add_tensor(hash, tensor.name, tensor.sizes, values);
    if (tensor.name == kCheckpointText) {
      text = values;
    } else {
      tensors.push_back(std::move(tensor));
    }
  }
  if (!text) fail("it has no state of a run", where);
  const std::string computed = hash.hex();
  if (claimed != computed) fail("its checksum is wrong", where, computed);
  checkpoint.text = *text;
  checkpoint.state.tensors = std::move(tensors);
  return checkpoint;
}

Json parse_state(const CheckpointFile& file, const std::string& where) {
  Json state = Json::parse(file.text, nullptr, /*allow_exceptions=*/false);
  if (!state.is_object()) {
    throw Error("cannot read the checkpoint: its state is not JSON",
                {where, "", "restore the file, or remove it to go on from the one before"});
  }
  return state;
}

}  // namespace batchplus
