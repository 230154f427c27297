#include <unistd.h>

#include <cerrno>

#include "cli/own_programs.h"
#include "cli/program.h"
#include "util/error.h"
#include "util/file.h"

namespace batchplus {

/// The catalog as the core printed it when this program was built.
extern const char* const kCatalogJson;

namespace {

/// Becomes the core, with the same words: process, terminal and environment stay what they are.
int become_core(char** argv) {
  const std::filesystem::path core = core_program();
  ::execv(core.c_str(), argv);
  throw_system_error("cannot start a part of the program", core, errno);
}

ProgramParts launcher_parts(char** argv) {
  const auto hand_over = [argv](const auto&...) { return become_core(argv); };
  return {.catalog = parse_catalog(Json::parse(kCatalogJson)),
          .torch = {.train = hand_over,
                    .eval = hand_over,
                    .measure = hand_over,
                    .models = hand_over,
                    .sweep = hand_over,
                    .data_show = hand_over}};
}

}  // namespace
}  // namespace batchplus

int main(int argc, char** argv) {
  return batchplus::run_program(argc, argv, batchplus::launcher_parts(argv));
}
