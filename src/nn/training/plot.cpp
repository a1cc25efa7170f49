// Drawings of a history: SVG, and characters.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "nn/check.hpp"
#include "vectis/nn/history.hpp"

namespace vectis::inline v0_1::nn {

namespace {

struct Curve {
  std::string name;
  std::span<const double> values;
  const char* color;
  char character;
};

// Of the values that are finite.
struct Interval {
  double low = 0;
  double high = 1;
  [[nodiscard]] double share(double value) const noexcept { return (value - low) / (high - low); }
};

Interval interval_of(const std::vector<Curve>& curves) {
  std::vector<double> finite;
  for (const Curve& curve : curves) {
    std::ranges::copy_if(curve.values, std::back_inserter(finite), [](double v) { return std::isfinite(v); });
  }
  if (finite.empty()) return {};
  const auto [low, high] = std::ranges::minmax(finite);
  // Equal values are drawn in the middle.
  if (high - low > 0 && std::isfinite(high - low)) return {low, high};
  const double margin = low == 0 ? 1 : std::abs(low) / 2;
  return {low - margin, low + margin};
}

std::vector<Curve> loss_curves(const History& history) {
  std::vector<Curve> curves = {{"loss", history.loss, "#1f77b4", '*'}};
  if (!history.val_loss.empty()) curves.push_back({"val_loss", history.val_loss, "#ff7f0e", 'o'});
  return curves;
}

constexpr double width = 640;
constexpr double panel_height = 220;
constexpr double margin_left = 70;
constexpr double margin = 30;

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '<') {
      safe += "&lt;";
    } else if (c == '&') {
      safe += "&amp;";
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string polyline(const Curve& curve, const Interval& range, double top) {
  std::string points;
  const double last = static_cast<double>(std::max<std::size_t>(curve.values.size(), 2) - 1);
  for (std::size_t i = 0; i < curve.values.size(); ++i) {
    if (!std::isfinite(curve.values[i])) continue;
    const double x = margin_left + static_cast<double>(i) / last * (width - margin_left - margin);
    const double y = top + panel_height - margin - range.share(curve.values[i]) * (panel_height - 2 * margin);
    points += fmt::format("{:.1f},{:.1f} ", x, y);
  }
  return fmt::format("<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"2\" points=\"{}\"/>\n", curve.color, points);
}

// Curves over one range of values, with its ends and the names of the curves.
std::string panel(const std::vector<Curve>& curves, double top) {
  const Interval range = interval_of(curves);
  const double bottom = top + panel_height - margin;
  std::string text = fmt::format("<path fill=\"none\" stroke=\"#888\" d=\"M{0},{1} V{2} H{3}\"/>\n", margin_left,
                                 top + margin, bottom, width - margin);
  text += fmt::format("<text x=\"{0}\" y=\"{1}\" text-anchor=\"end\">{2:.4g}</text>\n", margin_left - 6,
                      top + margin + 4, range.high);
  text +=
      fmt::format("<text x=\"{0}\" y=\"{1}\" text-anchor=\"end\">{2:.4g}</text>\n", margin_left - 6, bottom, range.low);
  double x = margin_left + 10;
  for (const Curve& curve : curves) {
    text += polyline(curve, range, top);
    text += fmt::format("<text x=\"{}\" y=\"{}\" fill=\"{}\">{}</text>\n", x, top + margin - 8, curve.color,
                        escaped(curve.name));
    x += 20 + 8 * static_cast<double>(curve.name.size());
  }
  return text;
}

}  // namespace

std::string History::to_svg() const {
  std::vector<std::vector<Curve>> panels = {loss_curves(*this)};
  for (const auto& [name, values] : metrics) panels.push_back({{name, values, "#1f77b4", '*'}});
  for (const auto& [name, values] : val_metrics) {
    const auto same = std::ranges::find_if(panels, [&](const auto& curves) { return curves.front().name == name; });
    const Curve curve = {"val_" + name, values, "#ff7f0e", 'o'};
    if (same == panels.end()) {
      panels.push_back({curve});
    } else {
      same->push_back(curve);
    }
  }
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n",
      width, panel_height * static_cast<double>(panels.size()));
  for (std::size_t i = 0; i < panels.size(); ++i) text += panel(panels[i], panel_height * static_cast<double>(i));
  return text + "</svg>\n";
}

void History::plot(std::ostream& out, std::size_t columns, std::size_t rows) const {
  if (columns < 2 || rows < 2 || columns > 1000 || rows > 1000) {
    throw_invalid("plot", fmt::format("{} columns and {} rows; each must be 2 to 1000", columns, rows));
  }
  const std::vector<Curve> curves = loss_curves(*this);
  const Interval range = interval_of(curves);
  std::vector<std::string> lines(rows, std::string(columns, ' '));
  for (const Curve& curve : curves) {
    const std::size_t count = curve.values.size();
    for (std::size_t column = 0; column < columns && count > 0; ++column) {
      const double value = curve.values[column * (count - 1) / (columns - 1)];
      if (!std::isfinite(value)) continue;
      const auto row = static_cast<std::size_t>(std::lround((1 - range.share(value)) * static_cast<double>(rows - 1)));
      lines[row][column] = curve.character;
    }
  }
  for (std::size_t row = 0; row < rows; ++row) {
    const bool is_end = row == 0 || row + 1 == rows;
    const double bound = row == 0 ? range.high : range.low;
    out << (is_end ? fmt::format("{:>10.4g}", bound) : std::string(10, ' ')) << " |" << lines[row] << '\n';
  }
  out << std::string(11, ' ') << '+' << std::string(columns, '-') << '\n' << std::string(12, ' ');
  for (const Curve& curve : curves) out << curve.character << ' ' << curve.name << "  ";
  out << "over " << size() << " epochs\n";
}

}  // namespace vectis::inline v0_1::nn
