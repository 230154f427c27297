#pragma once

#include "report/page.h"

namespace batchplus {

/// What a report shows of a comparison whose runs were read: settles its choices, and builds tables and
/// curves.
ReportContent make_content(Comparison comparison);

}  // namespace batchplus
