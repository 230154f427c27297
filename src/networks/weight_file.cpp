#include "networks/weight_file.h"

#include <ATen/ATen.h>
#include <caffe2/serialize/inline_container.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "formats/stored_tensor.h"
#include "util/error.h"
#include "util/file.h"
#include "util/first_few.h"
#include "util/hash.h"

namespace batchplus {
namespace fs = std::filesystem;
namespace {

torch::ScalarType scalar_type(ElementType type) {
  switch (type) {
    case ElementType::kFloat32: return torch::kFloat32;
    case ElementType::kFloat64: return torch::kFloat64;
    case ElementType::kFloat16: return torch::kFloat16;
    case ElementType::kBFloat16: return torch::kBFloat16;
    case ElementType::kInt64: return torch::kInt64;
    case ElementType::kInt32: return torch::kInt32;
    case ElementType::kInt16: return torch::kInt16;
    case ElementType::kInt8: return torch::kInt8;
    case ElementType::kUInt8: return torch::kUInt8;
    case ElementType::kBool: return torch::kBool;
  }
  BATCHPLUS_CHECK(false, "the switch covers every type");
}

void append_integer(std::string& pickle, int64_t number) {
  if (number >= 0 && number < INT32_MAX) {
    const auto small = static_cast<int32_t>(number);
    pickle += 'J';
    pickle.append(reinterpret_cast<const char*>(&small), sizeof small);
  } else {
    pickle += "\x8a\x08";
    pickle.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
}

void append_text(std::string& pickle, std::string_view text) {
  const auto size = static_cast<uint32_t>(text.size());
  pickle += 'X';
  pickle.append(reinterpret_cast<const char*>(&size), sizeof size);
  pickle += text;
}

void append_tuple(std::string& pickle, at::IntArrayRef numbers) {
  pickle += '(';
  for (const int64_t number : numbers) append_integer(pickle, number);
  pickle += 't';
}

const char* storage_name(torch::ScalarType type, const std::string& name) {
  switch (type) {
    case torch::kFloat32: return "FloatStorage";
    case torch::kFloat64: return "DoubleStorage";
    case torch::kInt64: return "LongStorage";
    case torch::kUInt8: return "ByteStorage";
    default: break;
  }
  throw Error("cannot save a tensor of this type",
              {name, torch::toString(type), "convert it to float32 first"}, Error::kFailure);
}

/// collections.OrderedDict of _rebuild_tensor_v2(storage, 0, sizes, strides, False, OrderedDict()).
std::string pickle_state(const StateDict& state) {
  const std::string empty_dict = "ccollections\nOrderedDict\n)R";
  std::string pickle = "\x80\x02" + empty_dict + "(";
  for (size_t i = 0; i < state.size(); ++i) {
    const auto& [name, tensor] = state[i];
    append_text(pickle, name);
    pickle += "ctorch._utils\n_rebuild_tensor_v2\n((";
    append_text(pickle, "storage");
    pickle += fmt::format("ctorch\n{}\n", storage_name(tensor.scalar_type(), name));
    append_text(pickle, std::to_string(i));
    append_text(pickle, "cpu");
    append_integer(pickle, tensor.numel());
    pickle += "tQ";
    append_integer(pickle, 0);
    append_tuple(pickle, tensor.sizes());
    append_tuple(pickle, tensor.strides());
    pickle += "\x89" + empty_dict + "tR";
  }
  return pickle + "u.";
}

StateDict on_cpu_and_contiguous(const StateDict& state) {
  StateDict copies;
  for (const auto& [name, tensor] : state) copies.emplace_back(name, tensor.detach().cpu().contiguous());
  return copies;
}

/// The tensors of a file with values that are not finite in this type: "3 of 10 values of fc.bias".
std::vector<std::string> list_infinite(const StateDict& state, std::optional<torch::ScalarType> type) {
  std::vector<std::string> problems;
  for (const auto& [name, tensor] : state) {
    if (name.starts_with(kReservedPrefix) || !tensor.is_floating_point()) continue;
    const torch::Tensor values = type ? tensor.to(*type) : tensor;
    const int64_t count = values.numel() - at::isfinite(values).sum().item<int64_t>();
    if (count > 0) problems.push_back(fmt::format("{} of {} values of {}", count, values.numel(), name));
  }
  return problems;
}

/// Weights that are NaN or infinite, as those of a run that diverged, give numbers that mean nothing. So do
/// those that become infinite in the type that the network computes in.
void require_finite(const StateDict& state, const torch::nn::Module& module, const std::string& where) {
  if (const auto problems = list_infinite(state, std::nullopt); !problems.empty()) {
    throw Error("weights are NaN or infinite",
                {where, first_few(problems), "the run that wrote them diverged: take weights from before"});
  }
  const auto parameters = module.parameters();
  if (parameters.empty() || parameters.front().scalar_type() != torch::kFloat32) return;
  if (const auto problems = list_infinite(state, torch::kFloat32); !problems.empty()) {
    throw Error("weights are too large for single precision",
                {where, first_few(problems), "the network computes in it: take smaller weights"});
  }
}

}  // namespace

StateDictFile read_weight_file(const fs::path& path) {
  return read_state_dict_file(read_file(path), path.string());
}

StateDict to_tensors(StateDictFile file) {
  StateDict state;
  for (const StoredTensor& tensor : file.tensors) {
    std::string& bytes = file.storages.at(tensor.storage);
    const torch::ScalarType type = scalar_type(tensor.type);
    const int64_t elements = static_cast<int64_t>(bytes.size()) / element_bytes(tensor.type);
    const torch::Tensor whole = torch::from_blob(bytes.data(), {elements}, type);
    const torch::Tensor view = whole.as_strided(tensor.sizes, tensor.strides, tensor.offset);
    state.emplace_back(tensor.name, tensor.is_negated ? view.neg() : view.clone());
  }
  return state;
}

StateDict read_weights(const fs::path& path) {
  return to_tensors(read_weight_file(path));
}

void load_weights(torch::nn::Module& module, StateDictFile file, const std::string& where) {
  const UnknownValues unknown = std::move(file.unknown);
  const StateDict state = to_tensors(std::move(file));
  require_finite(state, module, where);
  load_state_dict(module, state, where, unknown);
}

std::string note_on_weights(const StateDictFile& file) {
  const bool has_average = std::any_of(file.tensors.begin(), file.tensors.end(), [](const auto& tensor) {
    return tensor.name.starts_with(fmt::format("{}average.", kReservedPrefix));
  });
  if (!has_average) return "";
  return "the weights of this checkpoint are those of training, not their average, which its run evaluates "
         "and "
         "leaves in weights.pt";
}

std::string encode_weights(const StateDict& state) {
  const StateDict copies = on_cpu_and_contiguous(state);
  std::string file;
  caffe2::serialize::PyTorchStreamWriter writer([&file](const void* bytes, size_t size) {
    file.append(static_cast<const char*>(bytes), size);
    return size;
  });
  const std::string pickle = pickle_state(copies);
  writer.writeRecord("data.pkl", pickle.data(), pickle.size());
  for (size_t i = 0; i < copies.size(); ++i) {
    const torch::Tensor& tensor = copies[i].second;
    writer.writeRecord(fmt::format("data/{}", i), tensor.data_ptr(), tensor.nbytes());
  }
  writer.writeEndOfFile();
  return file;
}

void write_weights(const fs::path& path, const StateDict& state) {
  write_file_atomically(path, encode_weights(state));
}

std::string weights_sha256(const StateDict& state) {
  Hash hash;
  for (const auto& [name, tensor] : on_cpu_and_contiguous(state)) {
    add_tensor(hash, name, {tensor.sizes().data(), tensor.sizes().size()},
               {static_cast<const char*>(tensor.data_ptr()), tensor.nbytes()});
  }
  return hash.hex();
}

}  // namespace batchplus
