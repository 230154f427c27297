#pragma once

#include "store/run_directory.h"

namespace batchplus {

/// Whether this is a run that has lost its status.json, and has no checkpoint that speaks for it: what a run
/// writes behind its first status is here. One that just begins has config.toml and provenance.json alone.
bool has_lost_status(const RunLayout& layout);

}  // namespace batchplus
