// The words of the page of a snapshot; the script fills in the rest.
#pragma once

#include <string_view>

namespace vectis::inline v0_1::detail {

constexpr std::string_view page_body = R"html(<body>
<main>
<header>
  <p class="eyebrow">Vectis memory snapshot</p>
  <h1 id="device"></h1>
  <p class="soft" id="when"></p>
  <noscript><p>This page is drawn by a script inside it; allow scripts to see it.</p></noscript>
</header>

<section id="cause" hidden></section>

<section>
  <div class="gauge" id="gauge"></div>
  <div class="keys">
    <span><i class="chip use"></i>in use</span>
    <span><i class="chip hatch"></i>cached</span>
    <span><i class="chip tick"></i>peak</span>
    <span><i class="chip free"></i>still allowed by the limit</span>
  </div>
  <div class="tiles" id="tiles"></div>
</section>

<section>
  <div class="head"><h2>Over time</h2><p class="soft">Each step shows the most since the one before it.</p></div>
  <div id="chart"></div>
  <div class="keys">
    <span><i class="chip use"></i>in use</span>
    <span><i class="chip held"></i>held of the device</span>
    <span><i class="chip dash"></i><span id="limit-note"></span></span>
  </div>
</section>

<section>
  <div class="head">
    <h2>Map of blocks</h2>
    <p class="soft">Every segment (#) from its first byte to its last, coloured by tag; <span id="scale"></span>.
      Point at a block to read it.</p>
    <div class="zoom">
      <button id="zoom-out" aria-label="Show more in a row">&minus;</button>
      <button id="zoom-in" aria-label="Show less in a row">+</button>
    </div>
  </div>
  <div id="map"><canvas role="img" aria-label="Map of blocks; the tables below name the largest"></canvas>
    <div id="mark"></div></div>
  <div class="keys" id="map-keys">
    <span id="first-state"><i class="chip hatch"></i>cached, waits for a request of its kind</span>
    <span><i class="chip free"></i>free</span>
  </div>
</section>

<section>
  <div class="head"><h2>Tags</h2><p class="soft">Bytes asked for. Point at a tag to see it on the map, click to
    keep it.</p></div>
  <div class="scroll"><table>
    <thead><tr><th>tag</th><th class="rare">live, and peak behind it</th><th class="n">buffers</th>
      <th class="n">live</th><th class="n">peak</th></tr></thead>
    <tbody id="tags"></tbody>
  </table></div>
</section>

<section>
  <div class="head"><h2>Largest live buffers</h2><p class="soft">Click one to find it on the map.</p></div>
  <div class="scroll"><table>
    <thead><tr><th>tag</th><th class="n">size</th><th class="n rare">asked for</th><th class="rare gap">precision</th>
      <th class="n">age</th><th class="n rare">segment</th></tr></thead>
    <tbody id="largest"></tbody>
  </table></div>
</section>

<footer>
  <p><b>Held</b> is what the pool took from the device: buffers in use and the cache. <b>Waste</b> is what rounding
    sizes up costs. <b>Fragmentation</b> is 1 minus the largest free piece over all that is cached: near 100 % means many
    small pieces.</p>
</footer>
</main>
<div id="tip"></div>
)html";

}  // namespace vectis::inline v0_1::detail
