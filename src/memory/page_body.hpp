// HTML body of the snapshot page; the script fills in the data.
#pragma once

#include <string_view>

namespace vectis::inline v0_1::detail {

// HTML body of the page that write_html writes; its elements are empty until page_script fills in the data.
constexpr std::string_view page_body = R"html(<body>
<main>
<header>
  <p class="eyebrow">Vectis memory snapshot</p>
  <h1 id="device"></h1>
  <p class="soft" id="when"></p>
  <noscript><p>This page needs JavaScript; all of it is inside this file.</p></noscript>
</header>

<section id="cause" hidden></section>

<section>
  <div class="gauge" id="gauge"></div>
  <div class="keys">
    <span><i class="chip use"></i>in use</span>
    <span><i class="chip hatch"></i>cached</span>
    <span><i class="chip tick"></i>peak</span>
    <span><i class="chip free"></i>available under the limit</span>
  </div>
  <div class="tiles" id="tiles"></div>
</section>

<section>
  <div class="head"><h2>Over time</h2><p class="soft">Each step is the maximum since the previous one.</p></div>
  <div id="chart"></div>
  <div class="keys">
    <span><i class="chip use"></i>in use</span>
    <span><i class="chip held"></i>reserved</span>
    <span><i class="chip dash"></i><span id="limit-note"></span></span>
  </div>
</section>

<section>
  <div class="head">
    <h2>Map of blocks</h2>
    <p class="soft">Every segment (#) from first to last byte, colored by tag; <span id="scale"></span>.
      Hover over a block for details.</p>
    <div class="zoom">
      <button id="zoom-out" aria-label="Show more in a row">&minus;</button>
      <button id="zoom-in" aria-label="Show less in a row">+</button>
    </div>
  </div>
  <div id="map"><canvas role="img" aria-label="Map of blocks; the tables below name the largest"></canvas>
    <div id="mark"></div></div>
  <div class="keys" id="map-keys">
    <span id="first-state"><i class="chip hatch"></i>cached, reused by requests of its size class</span>
    <span><i class="chip free"></i>free</span>
  </div>
</section>

<section>
  <div class="head"><h2>Tags</h2><p class="soft">Requested bytes. Hover over a tag to highlight it on the map, click to
    pin it.</p></div>
  <div class="scroll"><table>
    <thead><tr><th>tag</th><th class="rare">live, over peak</th><th class="n">buffers</th>
      <th class="n">live</th><th class="n">peak</th></tr></thead>
    <tbody id="tags"></tbody>
  </table></div>
</section>

<section>
  <div class="head"><h2>Largest live buffers</h2><p class="soft">Click one to find it on the map.</p></div>
  <div class="scroll"><table>
    <thead><tr><th>tag</th><th class="n">size</th><th class="n rare">requested</th><th class="rare gap">precision</th>
      <th class="n">age</th><th class="n rare">segment</th></tr></thead>
    <tbody id="largest"></tbody>
  </table></div>
</section>

<footer>
  <p><b>Reserved</b> memory is what the pool holds from the device: buffers in use plus the cache. <b>Waste</b> is the
    share of in-use memory lost by rounding sizes up. <b>Fragmentation</b> is 1 minus the largest contiguous cached range
    over all cached bytes: near 100 % means many small ranges.</p>
</footer>
</main>
<div id="tip"></div>
)html";

}  // namespace vectis::inline v0_1::detail
