#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "util/process.h"
#include "watch/serve_runs.h"

namespace batchplus {

/// A page of runs, as the options say.
struct ServeCommand {
  ServeOptions serve;
  bool opens_browser = false;
};

/// Adds --port, --host and --open. `condition` stands before what they mean, as "with --watch: ".
std::vector<CLI::Option*> add_serve_options(CLI::App& command, ServeCommand& serve,
                                            const std::string& condition = "");

/// Opens the address in a browser, if that was asked for; tells when there is none. What is returned ends the
/// program that opens it.
std::unique_ptr<ChildProcess> open_page(const ServeCommand& serve, const std::string& address);

}  // namespace batchplus
