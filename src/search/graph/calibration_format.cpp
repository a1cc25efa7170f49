#include "search/graph/calibration_format.hpp"

#include <fmt/format.h>

#include <cmath>

namespace vectis::inline v0_1::graph {

namespace {

using detail::throw_corrupt;

constexpr std::size_t points_max = 256;
constexpr std::size_t curves_max = 16;
constexpr std::size_t reranked_max = 4096;

CalibrationCurve read_curve(detail::ChecksumReader& in) {
  CalibrationCurve curve;
  curve.reranked = in.get<std::uint32_t>();
  const auto points = in.get<std::uint32_t>();
  if (curve.reranked < calibrated_k || curve.reranked > reranked_max || points > points_max) {
    throw_corrupt(fmt::format("a calibration of {} reranked rows with {} points, the limits are {} and {}",
                              curve.reranked, points, reranked_max, points_max));
  }
  CalibrationPoint last{.epsilon = 0, .recall = -1, .scored = 0, .scans = 0};
  for (std::uint32_t i = 0; i < points; ++i) {
    CalibrationPoint point;
    point.epsilon = in.get<float>();
    point.recall = in.get<float>();
    point.scored = in.get<float>();
    point.scans = in.get<float>();
    const bool ascends = point.epsilon > last.epsilon && point.recall > last.recall && point.scored >= last.scored &&
                         point.scans >= last.scans;
    if (!ascends || !(point.epsilon > 0 && point.epsilon < 100) || !(point.recall <= 1) ||
        !std::isfinite(point.scored) || !(point.scans <= 1)) {
      throw_corrupt("the calibration points do not ascend");
    }
    curve.points.push_back(point);
    last = point;
  }
  return curve;
}

}  // namespace

void write_calibration(detail::ChecksumWriter& out, const Calibration& calibration) {
  out.put(calibration.vectors);
  out.put(calibration.queries);
  out.put(calibration.scores_max);
  out.put(static_cast<std::uint32_t>(calibration.curves.size()));
  for (const CalibrationCurve& curve : calibration.curves) {
    out.put(curve.reranked);
    out.put(static_cast<std::uint32_t>(curve.points.size()));
    for (const CalibrationPoint& point : curve.points) {
      out.put(point.epsilon);
      out.put(point.recall);
      out.put(point.scored);
      out.put(point.scans);
    }
  }
}

Calibration read_calibration(detail::ChecksumReader& in) {
  Calibration calibration;
  calibration.vectors = in.get<std::uint64_t>();
  calibration.queries = in.get<std::uint64_t>();
  calibration.scores_max = in.get<std::uint64_t>();
  const auto curves = in.get<std::uint32_t>();
  if (curves > curves_max) throw_corrupt(fmt::format("{} calibration curves, the limit is {}", curves, curves_max));
  for (std::uint32_t i = 0; i < curves; ++i) calibration.curves.push_back(read_curve(in));
  return calibration;
}

}  // namespace vectis::inline v0_1::graph
