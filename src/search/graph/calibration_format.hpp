// Reads and writes the calibration in the file of a graph index; docs/formats/graph-index.md describes it.
#pragma once

#include "base/checksummed_stream.hpp"
#include "search/graph/calibrate.hpp"

namespace vectis::inline v0_1::graph {

// Writes the calibration, without the costs, which are of this machine. Throws what the writer throws.
void write_calibration(detail::ChecksumWriter& out, const Calibration& calibration);
// Reads a calibration. Throws CorruptData when its points do not ascend, a number is out of range, or bytes are
// missing.
[[nodiscard]] Calibration read_calibration(detail::ChecksumReader& in);

}  // namespace vectis::inline v0_1::graph
