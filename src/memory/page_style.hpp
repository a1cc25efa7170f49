// Style sheet of the snapshot page, light and dark.
#pragma once

#include <string_view>

namespace vectis::inline v0_1::detail {

// CSS style sheet of the page that write_html writes, for light and dark mode.
constexpr std::string_view page_style = R"css(
:root {
  color-scheme: light dark;
  --page: #f5f6f8; --card: #ffffff; --ink: #1c2430; --soft: #5d6878; --line: #e1e5eb; --well: #eef1f5;
  --use: #3567d6; --held: #b9cdf3; --hatch: #93a5c4; --limit: #c8372d; --warm: #fdf1ee; --warm-line: #e9b7ae;
  --shade: 0 1px 2px rgb(20 30 50 / .06), 0 6px 20px rgb(20 30 50 / .05);
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #12161c; --card: #1a2029; --ink: #e8ecf2; --soft: #98a4b5; --line: #2b3440; --well: #232b36;
    --use: #6d97f2; --held: #34486f; --hatch: #5b6d8d; --limit: #f0776c; --warm: #2b1f20; --warm-line: #6b3a37; --shade: none;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif;
  font-variant-numeric: tabular-nums;
}
main { max-width: 1160px; margin: 0 auto; padding: 32px 24px 64px; }
h1 { font-size: 26px; line-height: 1.2; margin: 2px 0 4px; letter-spacing: -.01em; overflow-wrap: anywhere; }
h2 { font-size: 16px; margin: 0; }
p { margin: 0; }
.eyebrow { color: var(--use); font-weight: 600; font-size: 13px; }
.soft { color: var(--soft); font-size: 13px; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 20px 22px;
  margin-top: 18px; box-shadow: var(--shade); }
.head { display: flex; flex-wrap: wrap; gap: 4px 14px; align-items: baseline; margin-bottom: 14px; }
.head .soft { flex: 1 1 260px; }

#cause { background: var(--warm); border-color: var(--warm-line); }
#cause h2 { font-size: 18px; line-height: 1.35; margin-bottom: 12px; }
#cause h2::before { content: ""; display: inline-block; width: 10px; height: 10px; border-radius: 50%;
  background: var(--limit); margin-right: 10px; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 3px 18px; margin: 0; font-size: 14px; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }

.gauge { position: relative; height: 30px; border-radius: 8px; background: var(--well); overflow: hidden;
  display: flex; }
.gauge div { height: 100%; }
.gauge .use { background: var(--use); }
.gauge .held { background: repeating-linear-gradient(135deg, var(--hatch) 0 3px, var(--card) 3px 8px); }
.gauge .peak { position: absolute; top: 0; width: 2px; background: var(--ink); opacity: .55; }
.keys { display: flex; flex-wrap: wrap; gap: 4px 18px; margin: 10px 0 0; font-size: 13px; color: var(--soft); }
.keys span, .keys button { display: inline-flex; align-items: center; gap: 7px; }
.keys button { font: inherit; color: inherit; border: 0; background: none; padding: 2px 0; cursor: pointer; }
.keys button[aria-pressed=true] { color: var(--ink); font-weight: 600; }
.keys .name { max-width: 220px; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.chip { width: 12px; height: 12px; border-radius: 3px; display: inline-block; flex: none; }
.chip.use { background: var(--use); } .chip.held { background: var(--held); }
.chip.hatch { background: repeating-linear-gradient(135deg, var(--hatch) 0 2px, var(--card) 2px 5px);
  border: 1px solid var(--hatch); }
.chip.free { border: 1px solid var(--line); background: var(--well); }
.chip.dash { height: 0; width: 18px; border-top: 2px dashed var(--limit); border-radius: 0; }
.chip.tick { width: 2px; background: var(--ink); opacity: .6; }

.tiles { display: grid; grid-template-columns: repeat(4, 1fr); gap: 18px 22px; margin-top: 20px; }
.tile b { display: block; font-size: 25px; line-height: 1.2; font-weight: 650; letter-spacing: -.01em; }
.tile .name { font-size: 13px; font-weight: 600; color: var(--soft); }

#chart { position: relative; height: 250px; touch-action: pan-y; }
#chart svg { width: 100%; height: 100%; display: block; overflow: visible; }
#chart text { fill: var(--soft); font-size: 11.5px; }
#chart .grid { stroke: var(--line); } #chart .held { fill: var(--held); } #chart .use { fill: var(--use); }
#chart .limit { stroke: var(--limit); stroke-width: 1.6; stroke-dasharray: 6 4; }
#chart .cursor { stroke: var(--ink); stroke-opacity: .5; }
#chart .dot { fill: var(--card); stroke: var(--ink); stroke-width: 2; }

#map { position: relative; }
#map canvas { display: block; width: 100%; cursor: crosshair; touch-action: pan-y; }
#mark { position: absolute; pointer-events: none; border: 2px solid var(--ink); border-radius: 3px;
  box-shadow: 0 0 0 2px var(--card); display: none; }
.zoom button { font: inherit; width: 30px; height: 26px; border: 1px solid var(--line); border-radius: 6px;
  background: var(--card); color: var(--ink); cursor: pointer; }
.zoom button:disabled { opacity: .35; cursor: default; }

#tip { position: fixed; z-index: 9; pointer-events: none; display: none; max-width: 300px; padding: 9px 12px;
  background: var(--ink); color: var(--page); border-radius: 8px; font-size: 13px; line-height: 1.45;
  box-shadow: 0 6px 24px rgb(0 0 0 / .25); overflow-wrap: anywhere; }
#tip b { font-size: 14px; } #tip div { display: flex; justify-content: space-between; gap: 16px; }
#tip div span:first-child { opacity: .7; }

.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th { text-align: left; color: var(--soft); font-weight: 600; font-size: 12.5px; padding: 0 12px 6px 0; }
td { border-top: 1px solid var(--line); padding: 7px 12px 7px 0; white-space: nowrap; }
td.wide { white-space: normal; overflow-wrap: anywhere; min-width: 110px; }
th.n, td.n { text-align: right; } th.gap, td.gap { padding-left: 28px; }
th:last-child, td:last-child { padding-right: 0; }
tbody tr { cursor: pointer; } tbody tr:hover td, tbody tr.on td { background: var(--well); }
td .chip { margin-right: 9px; vertical-align: -1px; }
.bar { height: 8px; border-radius: 4px; background: var(--well); position: relative; min-width: 90px; }
.bar i, .bar u { position: absolute; inset: 0 auto 0 0; border-radius: 4px; } .bar u { opacity: .3; }
footer { margin-top: 22px; color: var(--soft); font-size: 13px; max-width: 78ch; }
footer p + p { margin-top: 6px; }

@media (max-width: 720px) {
  main { padding: 20px 12px 40px; } section { padding: 16px 14px; border-radius: 10px; }
  h1 { font-size: 21px; } .tiles { grid-template-columns: 1fr 1fr; gap: 16px; } .tile b { font-size: 21px; }
  dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: 7px; }
  #chart { height: 210px; } .rare { display: none; }
}
)css";

}  // namespace vectis::inline v0_1::detail
