// Script of the snapshot page: the map of blocks and the tables.
#pragma once

#include <string_view>

namespace vectis::inline v0_1::detail {

// JavaScript of the page that write_html writes: draws the map of blocks and the tables. Must follow page_script,
// whose names it uses.
constexpr std::string_view page_map_script = R"js(
const palette = ['#4a7be0', '#e0803c', '#35a06f', '#b263c8', '#c99f1f', '#dc5d78', '#28a5b8', '#8c7355', '#6f6fd6',
  '#7fa32c'];
const otherColor = '#8592a6';
const blocks = data.blocks;
const color = tag => tag < palette.length ? palette[tag] : otherColor;
const tagName = tag => data.tags[tag].tag === '' ? 'untagged' : data.tags[tag].tag;

// Segments in order, each with its blocks [first, last) and their offsets.
const segments = [];
const offsets = new Array(blocks.bytes.length);
blocks.bytes.forEach((size, i) => {
  const number = blocks.segment[i];
  let segment = segments[segments.length - 1];
  if (!segment || segment.number !== number) {
    segment = {number, first: i, last: i, bytes: 0};
    segments.push(segment);
  }
  offsets[i] = segment.bytes;
  segment.bytes += size;
  segment.last = i + 1;
});

const map = {perRow: 1, rows: [], focus: null, height: 16, rowsMax: 400};

// A large segment starts a row and wraps; small ones share a row, separated by gaps.
function layOut(perRow, width) {
  const gap = 5, scale = (width - 7 * gap) / perRow;
  const rows = [];
  let shared = null;
  for (const segment of segments) {
    if (segment.bytes <= perRow / 2) {
      const w = Math.max(segment.bytes * scale, 3);
      if (!shared || shared.end + w > width) {
        shared = {parts: [], end: 0, top: true};
        rows.push(shared);
      }
      shared.parts.push({segment, from: 0, to: segment.bytes, x: shared.end, w});
      shared.end += w + gap;
      continue;
    }
    shared = null;
    for (let from = 0; from < segment.bytes; from += perRow) {
      const to = Math.min(from + perRow, segment.bytes);
      rows.push({parts: [{segment, from, to, x: 0, w: Math.max((to - from) * scale, 2)}], top: from === 0});
    }
  }
  let y = 2;
  for (const row of rows) {
    if (row.top && y > 2) y += 7;
    row.y = y;
    y += map.height + 1;
  }
  return rows;
}
const gutter = () => byId('map').clientWidth < 560 ? 0 : 104;
const mapWidth = () => byId('map').clientWidth - gutter();

function firstZoom() {
  let perRow = 65536;
  while (layOut(perRow, mapWidth()).length > 26) perRow *= 2;
  return perRow;
}

// The first block of a segment that ends after `offset`.
function blockAt(segment, offset) {
  let low = segment.first, high = segment.last - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (offsets[middle] + blocks.bytes[middle] > offset) high = middle; else low = middle + 1;
  }
  return low;
}

function hatch(context, ink, paper) {
  const tile = document.createElement('canvas');
  tile.width = tile.height = 12;
  const pen = tile.getContext('2d');
  pen.fillStyle = paper;
  pen.fillRect(0, 0, 12, 12);
  pen.strokeStyle = ink;
  pen.lineWidth = 2;
  pen.beginPath();
  for (const x of [-12, -6, 0, 6, 12]) {
    pen.moveTo(x - 2, 14);
    pen.lineTo(x + 14, -2);
  }
  pen.stroke();
  return context.createPattern(tile, 'repeat');
}

function drawMap() {
  const canvas = byId('map').querySelector('canvas');
  const style = getComputedStyle(document.documentElement);
  const shade = name => style.getPropertyValue('--' + name).trim();
  const ratio = devicePixelRatio || 1, left = gutter(), width = mapWidth();
  const rows = map.rows = layOut(map.perRow, width);
  const height = rows.length ? rows[rows.length - 1].y + map.height + 2 : 20;
  canvas.width = (left + width) * ratio;
  canvas.height = height * ratio;
  canvas.style.height = height + 'px';
  const context = canvas.getContext('2d');
  context.scale(ratio, ratio);
  const cached = hatch(context, shade('hatch'), shade('card'));
  cached.setTransform(new DOMMatrix().scale(1 / ratio));
  context.font = '11.5px system-ui, "DejaVu Sans", sans-serif';
  for (const row of rows) {
    const head = row.parts[0].segment;
    if (left && row.top) {
      const tail = row.parts[row.parts.length - 1].segment;
      context.fillStyle = shade('soft');
      context.fillText(head === tail ? `#${head.number}  ${bytes(head.bytes)}` : `#${head.number} to #${tail.number}`, 0,
        row.y + 12);
    }
    for (const part of row.parts) drawPart(context, row.y, left, part, cached, shade);
  }
  byId('scale').textContent = 'a full row is ' + bytes(map.perRow);
  byId('zoom-in').disabled = map.perRow <= 4096 || layOut(map.perRow / 2, width).length > map.rowsMax;
  byId('zoom-out').disabled = rows.length <= Math.min(segments.length, 4);
}

function drawPart(context, y, left, part, cached, shade) {
  const scale = part.w / (part.to - part.from), end = part.x + part.w;
  context.fillStyle = shade('well');
  context.fillRect(left + part.x, y, part.w, map.height);
  context.strokeStyle = shade('line');
  context.lineWidth = 1;
  context.strokeRect(left + part.x + .5, y + .5, Math.max(part.w - 1, 1), map.height - 1);
  for (let i = blockAt(part.segment, part.from); i < part.segment.last && offsets[i] < part.to; i++) {
    const state = blocks.state[i];
    if (state === 'f') continue;
    const x = part.x + Math.max(offsets[i] - part.from, 0) * scale;
    let w = Math.min(part.x + (offsets[i] + blocks.bytes[i] - part.from) * scale, end) - x;
    if (w > 3) w -= 1;
    const dimmed = map.focus !== null && (state !== 'l' || blocks.tag[i] !== map.focus);
    context.globalAlpha = (dimmed ? .18 : 1) * (state === 'm' ? .25 + .75 * blocks.requested[i] / blocks.bytes[i] : 1);
    const idle = w < 3 ? shade('hatch') : cached;
    context.fillStyle = state === 'l' ? color(blocks.tag[i]) : state === 'm' ? otherColor : idle;
    context.fillRect(left + x, y, w, map.height);
    if (state === 'c' && w >= 3) {
      context.strokeStyle = shade('hatch');
      context.strokeRect(left + x + .5, y + .5, w - 1, map.height - 1);
    }
  }
  context.globalAlpha = 1;
}

function place(row, part, i) {
  const mark = byId('mark'), scale = part.w / (part.to - part.from);
  const from = Math.max(offsets[i], part.from), to = Math.min(offsets[i] + blocks.bytes[i], part.to);
  mark.style.display = 'block';
  mark.style.left = gutter() + part.x + (from - part.from) * scale - 2 + 'px';
  mark.style.top = row.y - 2 + 'px';
  mark.style.width = Math.max((to - from) * scale, 3) + 4 + 'px';
  mark.style.height = map.height + 4 + 'px';
}

function describeBlock(i) {
  const where = ['position', `segment ${blocks.segment[i]}, at ${bytes(offsets[i])}`];
  const size = bytes(blocks.bytes[i]);
  if (blocks.state[i] === 'f') return ['Free, ' + size, [where]];
  if (blocks.state[i] === 'c') return ['Cached, ' + size, [['', 'reused by requests of its size class'], where]];
  if (blocks.state[i] === 'm') {
    return [count(blocks.count[i], 'small block') + ', ' + size, [['live', bytes(blocks.requested[i])], where]];
  }
  return [tagName(blocks.tag[i]), [['size', size], ['requested', bytes(blocks.requested[i])],
    ['precision', data.precisions[blocks.precision[i]]], ['age', time(blocks.age_ms[i])], where]];
}

function mapEvents() {
  const host = byId('map'), canvas = host.querySelector('canvas');
  canvas.onpointermove = canvas.onpointerdown = event => {
    const box = canvas.getBoundingClientRect();
    const x = event.clientX - box.left - gutter(), y = event.clientY - box.top;
    const row = map.rows.find(r => y >= r.y - 1 && y <= r.y + map.height + 1);
    const part = row && row.parts.find(p => x >= p.x && x <= p.x + p.w);
    if (!part) return canvas.onpointerleave();
    const i = blockAt(part.segment, part.from + (x - part.x) / part.w * (part.to - part.from));
    place(row, part, i);
    showTip(event, ...describeBlock(i));
  };
  canvas.onpointerleave = () => {
    hideTip();
    byId('mark').style.display = 'none';
  };
  const zoom = factor => () => {
    map.perRow *= factor;
    drawMap();
  };
  byId('zoom-in').onclick = zoom(.5);
  byId('zoom-out').onclick = zoom(2);
}

let pinned = null;
function focusOn(tag) {
  if (map.focus === tag) return;
  map.focus = tag;
  drawMap();
}
function togglePin(tag) {
  pinned = pinned === tag ? null : tag;
  for (const row of byId('tags').rows) row.classList.toggle('on', row.dataset.tag === String(pinned));
  for (const key of byId('map-keys').querySelectorAll('button')) {
    key.setAttribute('aria-pressed', key.dataset.tag === String(pinned));
  }
  focusOn(pinned);
}
function focusEvents(element, tag) {
  element.dataset.tag = tag;
  element.onpointerenter = () => focusOn(tag);
  element.onpointerleave = () => focusOn(pinned);
  element.onclick = () => togglePin(tag);
  return element;
}

function chip(background) {
  const box = make('span', 'chip');
  box.style.background = background;
  return box;
}
function cell(className, ...children) { return make('td', className, ...children); }

function tagTable() {
  const top = data.tags.reduce((most, tag) => Math.max(most, tag.peak_bytes), 1);
  data.tags.forEach((tag, i) => {
    const bar = make('div', 'bar'), peak = make('u'), live = make('i');
    peak.style = `width:${100 * tag.peak_bytes / top}%;background:${color(i)}`;
    live.style = `width:${100 * tag.live_bytes / top}%;background:${color(i)}`;
    bar.append(peak, live);
    const row = make('tr', '', cell('wide', chip(color(i)), tagName(i)), cell('rare', bar),
      cell('n', tag.live_buffers.toLocaleString('en')), cell('n', bytes(tag.live_bytes)),
      cell('n', bytes(tag.peak_bytes)));
    byId('tags').append(focusEvents(row, i));
    if (i >= palette.length || tag.live_bytes === 0) return;
    const key = make('button', '', chip(color(i)), make('span', 'name', tagName(i)));
    byId('map-keys').insertBefore(focusEvents(key, i), byId('first-state'));
  });
}

function findBlock(segmentNumber, offset) {
  const segment = segments.find(s => s.number === segmentNumber);
  if (!segment) return;
  for (const row of map.rows) {
    const part = row.parts.find(p => p.segment === segment && p.from <= offset && offset < p.to);
    if (part) return place(row, part, blockAt(segment, offset));
  }
}

function largestTable() {
  for (const block of data.largest) {
    const row = make('tr', '', cell('wide', chip(color(block.tag)), tagName(block.tag)), cell('n', bytes(block.bytes)),
      cell('n rare', bytes(block.requested_bytes)), cell('rare gap', block.precision), cell('n', time(block.age_ms)),
      cell('n rare', `${block.segment} at ${bytes(block.offset)}`));
    row.onpointerenter = () => findBlock(block.segment, block.offset);
    row.onclick = () => {
      findBlock(block.segment, block.offset);
      byId('mark').scrollIntoView({block: 'center', behavior: 'smooth'});
    };
    byId('largest').append(row);
  }
}

function draw() {
  chart();
  drawMap();
}
header();
gauge();
tiles();
tagTable();
largestTable();
map.perRow = firstZoom();
mapEvents();
draw();
addEventListener('resize', draw);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
addEventListener('scroll', hideTip, {passive: true});
)js";

}  // namespace vectis::inline v0_1::detail
