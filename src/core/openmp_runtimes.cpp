#include "core/openmp_runtimes.h"

#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include "util/error.h"
#include "util/text.h"

namespace batchplus {
namespace {

/// libgomp.so.1, libgomp-a34b3233.so.1 of a wheel, libomp.so.5, libiomp5.so; not libompd or libomptarget.
bool is_openmp_runtime(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename();
  constexpr std::array kNames = {"libgomp", "libomp", "libiomp5"};
  return std::any_of(kNames.begin(), kNames.end(), [&](const std::string& start) {
    return name.starts_with(start + ".so") || name.starts_with(start + "-");
  });
}

int collect(dl_phdr_info* object, size_t, void* paths) {
  const std::string path = object->dlpi_name;
  if (is_openmp_runtime(path)) static_cast<std::vector<std::string>*>(paths)->push_back(path);
  return 0;
}

bool are_allowed() {
  const char* value = std::getenv("KMP_DUPLICATE_LIB_OK");
  return value != nullptr && (std::string_view(value) == "TRUE" || std::string_view(value) == "1");
}

}  // namespace

std::vector<std::string> openmp_runtimes() {
  std::vector<std::string> paths;
  ::dl_iterate_phdr(collect, &paths);
  return paths;
}

void require_one_openmp_runtime() {
  const std::vector<std::string> paths = openmp_runtimes();
  if (paths.size() < 2 || are_allowed()) return;
  throw Error("two OpenMP runtimes are loaded, which fight for the cores",
              {"", join(paths, ", "),
               "make the copy a link to the system's (ln -sf /usr/lib/x86_64-linux-gnu/libgomp.so.1 COPY), "
               "or take it out "
               "of LD_PRELOAD; KMP_DUPLICATE_LIB_OK=TRUE computes with both"});
}

}  // namespace batchplus
