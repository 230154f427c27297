// Writes the man page and the completions of shells into a folder while the program is built.
#include <fmt/format.h>

#include "cli/completions.h"
#include "cli/man_page.h"
#include "cli/program.h"
#include "util/file.h"

namespace batchplus {

extern const char* const kCatalogJson;

namespace {

void print_pages(const std::filesystem::path& folder) {
  const ProgramParts parts{.catalog = parse_catalog(Json::parse(kCatalogJson)), .torch = {}};
  CLI::App app;
  GlobalOptions options;
  CommandAction action;
  build_app(app, options, action, parts);
  const CommandEntry program = describe_commands(app, parts.catalog);
  write_file_atomically(folder / "batchplus.1", man_page(program));
  write_file_atomically(folder / "batchplus.bash", bash_completion(program));
  write_file_atomically(folder / "batchplus.zsh", zsh_completion(program));
  write_file_atomically(folder / "batchplus.fish", fish_completion(program));
}

}  // namespace
}  // namespace batchplus

int main(int, char** argv) {
  batchplus::print_pages(argv[1]);
}
