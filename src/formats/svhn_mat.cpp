#include "formats/svhn_mat.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <matio.h>

#include <memory>
#include <mutex>

#include "formats/mat_elements.h"
#include "util/error.h"
#include "util/file.h"
#include "util/text.h"

namespace batchplus {
namespace fs = std::filesystem;
namespace {

constexpr int64_t kSide = 32;
constexpr int64_t kChannels = 3;
constexpr int64_t kPlane = kSide * kSide;
constexpr int64_t kClasses = 10;

using MatFile = std::unique_ptr<mat_t, int (*)(mat_t*)>;
using MatVariable = std::unique_ptr<matvar_t, void (*)(matvar_t*)>;

/// matio would print to stderr what an Error says better.
void silence_matio() {
  static std::once_flag once;
  std::call_once(once, [] { Mat_LogInitFunc("batchplus", [](int, auto*) {}); });
}

/// The first 128 bytes: text, version 0x0100 and "MI" in the writer's byte order.
void require_matlab5_header(std::string_view bytes, const fs::path& path) {
  constexpr size_t kHeaderBytes = 128;
  if (bytes.size() < kHeaderBytes) {
    throw Error("truncated MATLAB file", {fmt::format("{}, offset {}", path.string(), bytes.size()),
                                          fmt::format("{} bytes", bytes.size()), "get the file again"});
  }
  const std::string_view ending = bytes.substr(124, 4);
  using namespace std::string_view_literals;
  if (ending == "\x00\x01IM"sv || ending == "\x01\x00MI"sv) return;
  const bool is_hdf5 = ending == "\x00\x02IM"sv || ending == "\x02\x00MI"sv;
  throw Error(is_hdf5 ? "MATLAB 7.3 files are not read" : "not a MATLAB 5 file",
              {fmt::format("{}, offset 124", path.string()),
               fmt::format("{:02x}", fmt::join(std::vector<uint8_t>(ending.begin(), ending.end()), " ")),
               is_hdf5 ? "save it with -v7" : "expected SVHN's train_32x32.mat or test_32x32.mat"});
}

/// What matio must know to be true before it reads the file. Returns the file's size.
int64_t require_sound_file(const fs::path& path) {
  const std::string bytes = read_file(path);
  require_matlab5_header(bytes, path);
  require_numeric_arrays(bytes, path.string());
  return static_cast<int64_t>(bytes.size());
}

[[noreturn]] void fail(const fs::path& path, const char* name, const std::string& what,
                       const std::string& value, const std::string& hint) {
  throw Error(what, {fmt::format("{}, variable {}", path.string(), name), value, hint});
}

/// The variable with its data, if its kind and shape are right and the file can hold it.
template <class IsRight>
MatVariable read_variable(mat_t* file, const fs::path& path, const char* name, const std::string& expected,
                          IsRight is_right) {
  MatVariable variable(Mat_VarReadInfo(file, name), Mat_VarFree);
  if (!variable) fail(path, name, "the MATLAB file does not hold the variable", "", "expected " + expected);
  std::vector<size_t> shape(variable->dims, variable->dims + variable->rank);
  std::vector<std::string> extents;
  for (const size_t extent : shape) extents.push_back(std::to_string(extent));
  const bool is_plain = variable->isComplex == 0 && variable->isLogical == 0;
  if (!is_plain || !is_right(variable->class_type, shape)) {
    fail(path, name, "the variable has another shape or type",
         fmt::format("[{}], class {}", join(extents, ","), static_cast<int>(variable->class_type)),
         "expected " + expected);
  }
  if (Mat_VarReadDataAll(file, variable.get()) != 0 || variable->data == nullptr) {
    fail(path, name, "truncated or damaged MATLAB file", fmt::format("[{}]", join(extents, ",")),
         "the variable's data cannot be read; get the file again");
  }
  return variable;
}

/// y as numbers; MATLAB's own writer stores them as bytes, others as doubles.
double label_at(const matvar_t& y, int64_t i) {
  if (y.class_type == MAT_C_DOUBLE) return static_cast<const double*>(y.data)[i];
  return static_cast<const uint8_t*>(y.data)[i];
}

}  // namespace

ImageBytes read_svhn_mat(const fs::path& path) {
  silence_matio();
  const int64_t file_bytes = require_sound_file(path);
  const MatFile file(Mat_Open(path.c_str(), MAT_ACC_RDONLY), Mat_Close);
  if (!file) throw Error("cannot read the MATLAB file", {path.string(), "", "get it again"});

  // No more images than the file can hold, compressed as well as deflate can.
  const auto most = static_cast<size_t>(file_bytes * kMaximumInflation / (kChannels * kPlane));
  size_t n = 0;
  const MatVariable x = read_variable(
      file.get(), path, "X", "uint8 [32,32,3,n]", [&](matio_classes type, const std::vector<size_t>& shape) {
        // MATLAB drops a last extent of 1.
        n = shape.size() == 4 ? shape[3] : 1;
        return type == MAT_C_UINT8 && (shape.size() == 3 || shape.size() == 4) && shape[0] == kSide &&
               shape[1] == kSide && shape[2] == kChannels && n > 0 && n <= most;
      });
  const MatVariable y = read_variable(file.get(), path, "y", fmt::format("uint8 or double [{},1]", n),
                                      [&](matio_classes type, const std::vector<size_t>& shape) {
                                        return (type == MAT_C_UINT8 || type == MAT_C_DOUBLE) &&
                                               shape.size() == 2 && shape[0] == n && shape[1] == 1;
                                      });

  ImageBytes images{kChannels, kSide, kSide, std::vector<uint8_t>(n * kChannels * kPlane),
                    std::vector<int64_t>(n)};
  const auto* columns = static_cast<const uint8_t*>(x->data);  // [n][channel][column][row]
  for (size_t p = 0; p < n * kChannels; ++p) {
    const uint8_t* in = columns + p * kPlane;
    uint8_t* out = images.pixels.data() + p * kPlane;
    for (int64_t row = 0; row < kSide; ++row) {
      for (int64_t column = 0; column < kSide; ++column) out[row * kSide + column] = in[column * kSide + row];
    }
  }
  for (size_t i = 0; i < n; ++i) {
    const double label = label_at(*y, static_cast<int64_t>(i));
    if (!(label >= 1 && label <= kClasses) || label != static_cast<int64_t>(label)) {
      fail(path, "y", "label out of range", fmt::format("{} at element {}", label, i),
           "labels are 1 to 10, 10 for the digit 0");
    }
    images.labels[i] = static_cast<int64_t>(label) % kClasses;
  }
  return images;
}

}  // namespace batchplus
