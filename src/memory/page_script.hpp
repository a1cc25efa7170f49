// Script of the snapshot page: text, gauge, tiles and timeline. Names from users are inserted as text, never as markup.
#pragma once

#include <string_view>

namespace vectis::inline v0_1::detail {

// JavaScript of the page that write_html writes: reads the JSON in the element `data` and draws text, gauge, tiles
// and timeline.
constexpr std::string_view page_script = R"js(
'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const stats = data.stats;
const byId = id => document.getElementById(id);

function make(tag, className, ...children) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...children);
  return element;
}
function bytes(n) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let unit = 0;
  for (; n >= 1024 && unit < 5; unit++) n /= 1024;
  const digits = unit === 0 ? 0 : n < 10 ? 2 : n < 100 ? 1 : 0;
  return n.toFixed(digits) + '\u00a0' + units[unit];
}
function time(ms) {
  if (ms < 1) return (ms * 1000).toFixed(0) + '\u00a0µs';
  if (ms < 1000) return ms.toFixed(ms < 10 ? 1 : 0) + '\u00a0ms';
  const s = ms / 1000;
  if (s < 120) return s.toFixed(s < 10 ? 1 : 0) + '\u00a0s';
  const m = Math.floor(s / 60);
  const rest = Math.floor(s % 60);
  if (m < 120) return m + '\u00a0min' + (rest ? '\u00a0' + rest + '\u00a0s' : '');
  const h = Math.floor(m / 60);
  if (h < 48) return h + '\u00a0h' + (m % 60 ? '\u00a0' + m % 60 + '\u00a0min' : '');
  return Math.floor(h / 24) + '\u00a0d\u00a0' + h % 24 + '\u00a0h';
}
const count = (n, one, many) => n.toLocaleString('en') + ' ' + (n === 1 ? one : many || one + 's');
const isNearEnd = share => (share > 0 && share < .1) || (share > .9 && share < 1);
const percent = share => (100 * share).toFixed(isNearEnd(share) ? 1 : 0) + '\u00a0%';

const tip = byId('tip');
function showTip(event, title, rows) {
  tip.replaceChildren(make('b', '', title), ...rows.map(([name, value]) =>
    make('div', '', make('span', '', name), make('span', '', value))));
  tip.style.display = 'block';
  const box = tip.getBoundingClientRect();
  const x = event.clientX + 16 + box.width > innerWidth ? event.clientX - box.width - 16 : event.clientX + 16;
  tip.style.left = Math.max(4, x) + 'px';
  tip.style.top = Math.max(4, Math.min(event.clientY + 14, innerHeight - box.height - 8)) + 'px';
}
const hideTip = () => { tip.style.display = 'none'; };

function header() {
  document.title = 'Memory of ' + data.device;
  byId('device').textContent = data.device;
  byId('when').textContent = 'Taken ' + time(data.time_ms) + ' after the program started: ' +
    count(stats.live_buffers, 'live buffer') + ' in ' + count(stats.segments, 'segment') + ' of device memory.';
  if (!data.cause) return;
  const [first, ...rest] = data.cause.trim().split('\n');
  const facts = make('dl');
  for (const line of rest) {
    const named = line.length > 10 && line[9] === ' ';
    facts.append(make('dt', '', named ? line.slice(0, 9).trim() : ''), make('dd', '', named ? line.slice(10) : line));
  }
  byId('cause').append(make('h2', '', first), facts);
  byId('cause').hidden = false;
}

function gauge() {
  const scale = Math.max(stats.limit_bytes, stats.peak_reserved_bytes, stats.reserved_bytes, 1);
  const width = n => 'width:' + 100 * n / scale + '%';
  const part = (name, n) => {
    const div = make('div', name);
    div.style = width(n) + (n > 0 ? ';min-width:2px' : '');
    return div;
  };
  const peak = make('div', 'peak');
  peak.style.left = 'calc(' + 100 * stats.peak_reserved_bytes / scale + '% - 2px)';
  byId('gauge').append(part('use', stats.in_use_bytes), part('held', stats.cached_bytes), peak);
}

function tiles() {
  const held = stats.limit_bytes ? stats.reserved_bytes / stats.limit_bytes : 0;
  const waste = stats.in_use_bytes ? 1 - stats.requested_bytes / stats.in_use_bytes : 0;
  const rows = [
    ['In use', bytes(stats.in_use_bytes), count(stats.live_buffers, 'live buffer')],
    ['Cached', bytes(stats.cached_bytes), 'kept for reuse, returned to the device when idle'],
    ['Limit', bytes(stats.limit_bytes), percent(held) + ' of it is reserved'],
    ['Peak', bytes(stats.peak_reserved_bytes), 'reserved; ' + bytes(stats.peak_in_use_bytes) + ' in use'],
    ['Hit rate', percent(stats.allocations ? stats.hits / stats.allocations : 0),
      'of ' + count(stats.allocations, 'buffer') + ' came from the cache'],
    ['Waste', percent(waste), bytes(stats.in_use_bytes - stats.requested_bytes) + ' more than requested'],
    ['Fragmentation', percent(stats.fragmentation), 'largest contiguous range ' + bytes(stats.largest_free_bytes)],
    ['Device calls', (stats.device_allocations + stats.device_frees).toLocaleString('en'),
      count(stats.device_allocations, 'allocation') + ', ' + count(stats.device_frees, 'free') +
      (stats.failures ? ', ' + count(stats.failures, 'failure') : '')],
  ];
  byId('tiles').append(...rows.map(([name, value, note]) => make('div', 'tile', make('span', 'name', name),
    make('b', '', value), make('span', 'soft', note))));
}

// Ticks at powers of two, which are round in binary units.
function byteTicks(top) {
  let step = 1;
  while (top / step > 6) step *= 2;
  const ticks = [];
  for (let n = 0; n <= top; n += step) ticks.push(n);
  return ticks;
}
function timeTicks(span, most) {
  const steps = [.001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4,
    3e4, 6e4, 12e4, 3e5, 6e5, 9e5, 18e5, 36e5, 72e5, 216e5, 432e5, 864e5, 864e6];
  const step = steps.find(s => span / s <= most) || span / 4;
  const ticks = [];
  for (let t = 0; t <= span; t += step) ticks.push(t);
  return ticks;
}

function chart() {
  const host = byId('chart');
  const {time_ms: times, reserved, in_use: used} = data.timeline;
  if (times.length < 2) {
    host.replaceChildren(make('p', 'soft', 'Nothing has been allocated yet.'));
    host.style.height = 'auto';
    return;
  }
  const width = host.clientWidth, height = host.clientHeight, left = 66, right = 8, top = 8, bottom = 24;
  const begin = times[0], end = times[times.length - 1], span = Math.max(end - begin, 1e-6);
  const highest = reserved.reduce((a, b) => Math.max(a, b), 1);
  const limitShown = stats.limit_bytes > 0 && stats.limit_bytes <= 1.6 * highest;
  const ceiling = Math.max(highest, limitShown ? stats.limit_bytes : 0) * 1.06;
  byId('limit-note').textContent = limitShown ? 'limit' : 'limit ' + bytes(stats.limit_bytes) + ', above this chart';
  const x = t => left + (t - begin) / span * (width - left - right);
  const y = n => height - bottom - n / ceiling * (height - top - bottom);
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  const add = (tag, attributes, text) => {
    const node = document.createElementNS(svg.namespaceURI, tag);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (text !== undefined) node.textContent = text;
    svg.append(node);
    return node;
  };
  const area = values => {
    let path = `M${x(begin)} ${y(0)}`;
    values.forEach((value, i) => { path += `L${x(times[i])} ${y(i ? values[i - 1] : 0)}V${y(value)}`; });
    return path + `V${y(0)}Z`;
  };
  for (const n of byteTicks(ceiling)) {
    add('line', {x1: left, x2: width - right, y1: y(n), y2: y(n), class: 'grid'});
    add('text', {x: left - 8, y: y(n) + 4, 'text-anchor': 'end'}, bytes(n));
  }
  for (const ago of timeTicks(span, width / 130)) {
    const at = x(end - ago);
    const anchor = ago === 0 ? 'end' : at < left + 30 ? 'start' : 'middle';
    add('text', {x: at, y: height - 5, 'text-anchor': anchor}, ago === 0 ? 'now' : time(ago) + ' ago');
  }
  add('path', {d: area(reserved), class: 'held'});
  add('path', {d: area(used), class: 'use'});
  if (limitShown) {
    add('line', {x1: left, x2: width - right, y1: y(stats.limit_bytes), y2: y(stats.limit_bytes), class: 'limit'});
  }
  const cursor = add('line', {y1: top, y2: height - bottom, class: 'cursor', visibility: 'hidden'});
  const dot = add('circle', {r: 4, class: 'dot', visibility: 'hidden'});
  host.replaceChildren(svg);
  const mark = on => [cursor, dot].forEach(n => n.setAttribute('visibility', on ? 'visible' : 'hidden'));
  host.onpointermove = host.onpointerdown = event => {
    const at = event.clientX - host.getBoundingClientRect().left;
    const wanted = begin + (at - left) / (width - left - right) * span;
    let low = 0, high = times.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (times[middle] <= wanted) low = middle; else high = middle - 1;
    }
    const line = Math.min(Math.max(at, left), width - right);
    cursor.setAttribute('x1', line);
    cursor.setAttribute('x2', line);
    dot.setAttribute('cx', line);
    dot.setAttribute('cy', y(used[low]));
    mark(true);
    const ago = end - Math.min(Math.max(wanted, begin), end);
    showTip(event, ago < span / 1000 ? 'now' : time(ago) + ' ago', [['in use', bytes(used[low])],
      ['reserved', bytes(reserved[low])], ['of the limit', percent(reserved[low] / (stats.limit_bytes || 1))]]);
  };
  host.onpointerleave = () => { mark(false); hideTip(); };
}
)js";

}  // namespace vectis::inline v0_1::detail
