#include "networks/weight_file.h"

#include <archive.h>
#include <archive_entry.h>
#include <caffe2/serialize/inline_container.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "util/error.h"
#include "util/file.h"
#include "util/hash.h"

namespace batchplus {
namespace fs = std::filesystem;
namespace {

/// The entries of a zip archive. torch.save stores them uncompressed, so they cannot exceed the file itself.
std::map<std::string, std::string> read_zip(const std::string& bytes, const std::string& where) {
  const std::unique_ptr<archive, int (*)(archive*)> reader(archive_read_new(), archive_read_free);
  archive_read_support_format_zip_seekable(reader.get());
  const auto fail = [&](const std::string& reason) {
    throw Error("cannot read the weight file",
                {where, reason, "expected what torch.save writes (zip format)"});
  };
  const auto require = [&](int result) {
    if (result != ARCHIVE_OK) fail(archive_error_string(reader.get()));
  };
  require(archive_read_open_memory(reader.get(), bytes.data(), bytes.size()));
  std::map<std::string, std::string> entries;
  size_t total = 0;
  archive_entry* entry = nullptr;
  while (true) {
    const int result = archive_read_next_header(reader.get(), &entry);
    if (result == ARCHIVE_EOF) return entries;
    require(result);
    const char* name = archive_entry_pathname(entry);
    std::string& content = entries[name == nullptr ? "" : name];
    content.clear();
    while (true) {
      const void* block = nullptr;
      size_t size = 0;
      la_int64_t offset = 0;
      const int status = archive_read_data_block(reader.get(), &block, &size, &offset);
      if (status == ARCHIVE_EOF) break;
      require(status);
      total += size;
      if (total > bytes.size()) fail("its entries are compressed");
      content.append(static_cast<const char*>(block), size);
    }
  }
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
    default: break;
  }
  throw Error("cannot save a tensor of this type", {name, torch::toString(type), ""}, Error::kFailure);
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

void collect(const torch::nn::Module& module, const std::string& prefix, StateDict& state) {
  for (const auto& item : module.named_parameters(/*recurse=*/false))
    state.emplace_back(prefix + item.key(), item.value());
  for (const auto& item : module.named_buffers(/*recurse=*/false)) {
    if (item.value().defined()) state.emplace_back(prefix + item.key(), item.value());
  }
  for (const auto& child : module.named_children())
    collect(*child.value(), prefix + child.key() + ".", state);
}

}  // namespace

StateDict state_dict(const torch::nn::Module& module) {
  StateDict state;
  collect(module, "", state);
  return state;
}

void load_state_dict(torch::nn::Module& module, StateDict state, const std::string& where) {
  std::map<std::string, torch::Tensor> given;
  for (auto& [name, tensor] : state) {
    constexpr std::string_view kPrefix = "module.";
    given[name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : name] = tensor;
  }
  std::vector<std::string> problems;
  const StateDict targets = state_dict(module);
  std::vector<std::pair<torch::Tensor, torch::Tensor>> copies;
  for (const auto& [name, target] : targets) {
    const auto entry = given.find(name);
    if (entry == given.end()) {
      if (!name.ends_with("num_batches_tracked")) problems.push_back("missing " + name);
      continue;
    }
    if (entry->second.sizes() != target.sizes()) {
      problems.push_back(fmt::format("{} has shape [{}] instead of [{}]", name,
                                     fmt::join(entry->second.sizes(), ","), fmt::join(target.sizes(), ",")));
    }
    copies.emplace_back(target, entry->second);
    given.erase(entry);
  }
  for (const auto& [name, tensor] : given) problems.push_back("unexpected " + name);
  if (!problems.empty()) {
    throw Error("the weights do not fit the network", {where, fmt::format("{}", fmt::join(problems, "; ")),
                                                       "check --model and the number of classes"});
  }
  const torch::NoGradGuard no_grad;
  for (const auto& [target, source] : copies) target.copy_(source);
}

StateDict read_weights(const fs::path& path) {
  const auto entries = read_zip(read_file(path), path.string());
  constexpr std::string_view kPickle = "data.pkl";
  for (const auto& [name, pickle] : entries) {
    const bool is_pickle = name == kPickle || name.ends_with("/data.pkl");
    if (!is_pickle) continue;
    const std::string folder = name.substr(0, name.size() - kPickle.size()) + "data/";
    std::map<std::string, std::string> storages;
    for (const auto& [entry, bytes] : entries) {
      if (entry.starts_with(folder)) storages[entry.substr(folder.size())] = bytes;
    }
    return read_pickled_state_dict(pickle, storages, path.string());
  }
  throw Error("cannot read the weight file",
              {path.string(), "no data.pkl in it", "expected what torch.save writes (zip format)"});
}

void write_weights(const fs::path& path, const StateDict& state) {
  const StateDict copies = on_cpu_and_contiguous(state);
  std::string file;
  {
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
  }
  write_file_atomically(path, file);
}

std::string weights_sha256(const StateDict& state) {
  Sha256 hash;
  for (const auto& [name, tensor] : on_cpu_and_contiguous(state)) {
    hash.add(fmt::format("{} [{}] ", name, fmt::join(tensor.sizes(), ",")));
    hash.add(tensor.data_ptr(), tensor.nbytes());
  }
  return hash.hex();
}

}  // namespace batchplus
