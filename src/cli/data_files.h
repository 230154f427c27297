#pragma once

#include "cli/command.h"
#include "cli/data_options.h"

namespace batchplus {

/// `data list`, `data verify` and `data fetch`: what there is to do with a dataset's files.
int run_data_files(const DataCommand& command, const GlobalOptions& options);

}  // namespace batchplus
