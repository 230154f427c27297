#include "formats/state_dict_file.h"

#include "util/error.h"

namespace batchplus {

StateDictFile read_state_dict_file(std::string_view bytes, const std::string& where) {
  const std::string hint = "expected what torch.save(model.state_dict(), file) writes (zip format)";
  if (!bytes.starts_with("PK"))
    throw Error("cannot read the weight file: not a zip archive", {where, "", hint});
  ArchiveFiles entries = read_zip(bytes, where);
  constexpr std::string_view kPickle = "data.pkl";
  for (const auto& [name, pickle] : entries) {
    const bool is_pickle = name == kPickle || name.ends_with("/data.pkl");
    if (!is_pickle) continue;
    const std::string folder = name.substr(0, name.size() - kPickle.size()) + "data/";
    StateDictFile file;
    StorageSizes sizes;
    for (auto& [entry, content] : entries) {
      if (!entry.starts_with(folder)) continue;
      sizes[entry.substr(folder.size())] = static_cast<int64_t>(content.size());
      file.storages[entry.substr(folder.size())] = std::move(content);
    }
    file.tensors = read_pickled_state_dict(pickle, sizes, where);
    return file;
  }
  throw Error("cannot read the weight file: no data.pkl in it", {where, "", hint});
}

}  // namespace batchplus
