#include <fmt/format.h>

#include <string_view>

#include "cli/program.h"
#include "commands/commands.h"
#include "commands/environment.h"
#include "core/memory.h"
#include "util/error.h"

namespace batchplus {
namespace {

int carry_out(const CommandAction& action, const GlobalOptions& options) {
  keep_freed_memory();
  apply_threads(options);
  try {
    return action();
  } catch (const c10::Error& problem) {
    throw Error(fmt::format("libtorch failed: {}", problem.what_without_backtrace()), {}, Error::kFailure);
  }
}

ProgramParts core_parts() {
  return {.catalog = list_catalog(),
          .torch = {.train = run_train,
                    .eval = run_eval,
                    .measure = run_measure,
                    .models = run_models,
                    .sweep = run_sweep,
                    .data_show = run_data_show},
          .carry_out = carry_out};
}

/// A source file of the launcher, printed while the program is built.
void print_catalog_source() {
  fmt::print(
      "namespace batchplus {{\nextern const char* const kCatalogJson;\n"
      "const char* const kCatalogJson = R\"json({})json\";\n}}\n",
      to_json(list_catalog()).dump(1));
}

}  // namespace
}  // namespace batchplus

int main(int argc, char** argv) {
  if (argc == 2 && argv[1] == std::string_view("--catalog-source")) {
    batchplus::print_catalog_source();
    return 0;
  }
  return batchplus::run_program(argc, argv, batchplus::core_parts());
}
