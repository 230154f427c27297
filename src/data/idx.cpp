#include "data/idx.h"

#include <fmt/format.h>
#include <zlib.h>

#include <cstring>
#include <memory>

#include "util/error.h"

namespace batchplus {
namespace fs = std::filesystem;
namespace {

struct IdxArray {
  std::vector<int64_t> shape;
  torch::Tensor bytes;  // [product of shape], uint8
};

/// A gzip stream, or a plain file: zlib reads both.
class GzipFile {
 public:
  explicit GzipFile(const fs::path& path) : path_(path), file_(gzopen(path.c_str(), "rb"), gzclose) {
    if (!file_) throw Error("cannot open file", {path.string(), "", "check that it exists and is readable"});
    gzbuffer(file_.get(), 1 << 18);
  }

  void read_exactly(void* destination, int64_t bytes) {
    const int64_t count = gzfread(destination, 1, static_cast<size_t>(bytes), file_.get());
    if (count != bytes) {
      throw Error("truncated or corrupted idx file",
                  {fmt::format("{}, offset {}", path_.string(), offset_ + count),
                   fmt::format("{} of {} bytes", count, bytes), "the file ends early; get it again"});
    }
    offset_ += bytes;
  }

  void require_end() {
    char extra = 0;
    if (gzread(file_.get(), &extra, 1) != 0) {
      throw Error("idx file is longer than its header says, or corrupted",
                  {fmt::format("{}, offset {}", path_.string(), offset_), "", "get the file again"});
    }
  }

  uint32_t read_big_endian() {
    uint8_t b[4];
    read_exactly(b, 4);
    return uint32_t{b[0]} << 24 | uint32_t{b[1]} << 16 | uint32_t{b[2]} << 8 | uint32_t{b[3]};
  }

 private:
  fs::path path_;
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file_;
  int64_t offset_ = 0;
};

/// The most that deflate can expand a file: a header that claims more is not believed.
constexpr int64_t kMaximumInflation = 1032;

IdxArray read_idx(const fs::path& path, uint32_t dimensions) {
  GzipFile file(path);
  const uint32_t magic = file.read_big_endian();
  const uint32_t expected = 0x00000800 | dimensions;  // unsigned bytes
  if (magic != expected) {
    throw Error("not an idx file of bytes",
                {fmt::format("{}, offset 0", path.string()), fmt::format("magic {:#010x}", magic),
                 fmt::format("expected magic {:#010x}", expected)});
  }
  IdxArray array;
  int64_t bytes = 1;
  const auto limit = static_cast<int64_t>(fs::file_size(path)) * kMaximumInflation;
  for (uint32_t d = 0; d < dimensions; ++d) {
    array.shape.push_back(file.read_big_endian());
    const bool fits = array.shape.back() > 0 && bytes <= limit / array.shape.back();
    if (!fits) {
      throw Error("idx header claims more data than the file can hold",
                  {fmt::format("{}, offset {}", path.string(), 4 + 4 * d),
                   fmt::format("dimension of {}", array.shape.back()), "get the file again"});
    }
    bytes *= array.shape.back();
  }
  array.bytes = torch::empty({bytes}, torch::kUInt8);
  file.read_exactly(array.bytes.data_ptr<uint8_t>(), bytes);
  file.require_end();
  return array;
}

}  // namespace

ImageSet read_idx_pair(const fs::path& images, const fs::path& labels, int64_t classes) {
  const IdxArray pixels = read_idx(images, 3);
  const IdxArray numbers = read_idx(labels, 1);
  ImageSet set{pixels.bytes.view({pixels.shape[0], 1, pixels.shape[1], pixels.shape[2]}),
               numbers.bytes.to(torch::kInt64)};
  validate(set, classes, labels.string());
  return set;
}

fs::path idx_path(const fs::path& folder, const std::string& name) {
  return fs::exists(folder / name) ? folder / name : folder / (name + ".gz");
}

Dataset load_fashion_mnist(const fs::path& folder) {
  Dataset dataset;
  dataset.name = "fashion-mnist";
  dataset.class_names = {"t-shirt", "trouser", "pullover", "dress", "coat",
                         "sandal",  "shirt",   "sneaker",  "bag",   "ankle boot"};
  dataset.train = read_idx_pair(idx_path(folder, "train-images-idx3-ubyte"),
                                idx_path(folder, "train-labels-idx1-ubyte"), dataset.classes());
  dataset.test = read_idx_pair(idx_path(folder, "t10k-images-idx3-ubyte"),
                               idx_path(folder, "t10k-labels-idx1-ubyte"), dataset.classes());
  return dataset;
}

}  // namespace batchplus
