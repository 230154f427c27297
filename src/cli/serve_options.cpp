#include "cli/serve_options.h"

#include "util/error.h"
#include "util/standard_streams.h"

namespace batchplus {

std::vector<CLI::Option*> add_serve_options(CLI::App& command, ServeCommand& serve,
                                            const std::string& condition) {
  return {
      command.add_option("--port", serve.serve.port, condition + "port to listen on (default: a free one)")
          ->check(CLI::Range(0, 65535)),
      command.add_option("--host", serve.serve.host,
                         condition + "address to listen on (default: 127.0.0.1); any but this machine's own "
                                     "needs a token, which is in the address printed"),
      command.add_flag("--open", serve.opens_browser, condition + "open the page in a browser")};
}

std::unique_ptr<ChildProcess> open_page(const ServeCommand& serve, const std::string& address) {
  if (!serve.opens_browser) return nullptr;
  try {
    return std::make_unique<ChildProcess>(std::vector<std::string>{"xdg-open", address},
                                          std::filesystem::path("/dev/null"));
  } catch (const Error&) {
    tell("There is no xdg-open here: open the address yourself.\n");
    return nullptr;
  }
}

}  // namespace batchplus
