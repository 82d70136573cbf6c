// SPDX-License-Identifier: Apache-2.0
// Functions that the other files share. All text of the report becomes text nodes of the page.
'use strict';
const report = JSON.parse(document.getElementById('data').textContent);
const kLongest = 600;  // characters of one text that are shown at once

function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (typeof value === 'function') element.addEventListener(name, value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  for (const child of children.flat(2)) if (child !== null && child !== undefined) element.append(child);
  return element;
}

// A text of any length. A long text is cut, with a button that shows the rest.
function shown(text) {
  text = String(text ?? '');
  if (text.length <= kLongest) return document.createTextNode(text);
  const rest = make('span', {hidden: ''});
  const more = make('button', {type: 'button', click: () => {
    rest.textContent = text.slice(kLongest);
    rest.hidden = false;
    more.remove();
  }}, `… show all ${text.length.toLocaleString('en')} characters`);
  return make('span', {}, text.slice(0, kLongest), rest, more);
}

const list = value => Array.isArray(value) ? value : [];
const plain = value => value && typeof value === 'object' && !Array.isArray(value) ? value : {};
const hex = value => typeof value === 'number' ? '0x' + value.toString(16) : String(value);
// The plural of 'piece of cuMemAlloc' or 'library', as counted() of recorder/holdings/counted.h forms it.
const manyOf = what => String(what).replace(/^(?:\S+ )*?\S+(?= of |$)/, noun => noun.replace(/([^aeou])y$/, '$1ie') + 's');
const counted = (count, one, many) => `${count.toLocaleString('en')} ${count === 1 ? one : many}`;

function bytes(count) {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let unit = 0, value = count;
  while (Math.abs(value) >= 1024 && unit < units.length - 1) { value /= 1024; ++unit; }
  return `${Number.isInteger(value) ? value : value.toFixed(value < 10 ? 2 : 1)} ${units[unit]}`;
}

function time(ns) {
  if (ns < 0) return 'not known';
  if (ns < 1e3) return `${Math.round(ns)} ns`;
  if (ns < 1e6) return `${(ns / 1e3).toFixed(2)} µs`;
  if (ns < 1e9) return `${(ns / 1e6).toFixed(2)} ms`;
  return `${(ns / 1e9).toFixed(3)} s`;
}

function frameText(frame) {
  frame = plain(frame);
  let text = frame.function || '?';
  if (frame.file) text += ` at ${frame.file}:${frame.line}`;
  if (frame.module && !frame.language) text += ` (${String(frame.module).split('/').pop()}+${hex(frame.offset || 0)})`;
  return text;
}
function stackView(stack, nothing) {
  const frames = list(stack);
  if (frames.length === 0) return make('p', {class: 'dim'}, nothing || 'No stack is known.');
  const source = frame => plain(frame).source ? make('span', {class: 'source'}, '   ', shown(frame.source), '\n') : null;
  const lines = numbers => make('pre', {}, numbers.flatMap(i => [`#${i} `, shown(frameText(frames[i])), '\n', source(frames[i])]));
  const all = [...frames.keys()], few = framesOfTheProgram(frames);
  if (few.length === 0 || few.length === all.length) return lines(all);
  return make('div', {}, lines(few), opening(`all ${all.length} frames`, () => lines(all)));
}
const ofInterpreter = frame => !frame.language && /^(python[\d.]*$|libpython|_ctypes\.|libffi\.so)/.test(String(frame.module || '').split('/').pop());
// The numbers of the frames that are left without the C library's start of the program; and without
// Python's interpreter where the Python functions are known.
function framesOfTheProgram(frames) {
  const python = frames.some(frame => plain(frame).language);
  return [...frames.keys()].filter(i => {
    const frame = plain(frames[i]);
    return !(python && ofInterpreter(frame)) && !/^(_start$|__libc_start_)/.test(frame.function || '');
  });
}
// The first frame that has a source line and is not in Python's interpreter; else the first frame.
function siteText(stack) {
  const frames = list(stack);
  const site = frames.find(frame => plain(frame).file && !ofInterpreter(plain(frame))) || frames[0];
  return site ? frameText(site) : 'no place is known';
}

// A <details> whose content is made when the user opens it for the first time.
function opening(summary, content, open = false) {
  const details = make('details', {}, make('summary', {}, summary));
  details.addEventListener('toggle', () => {
    if (details.open && details.children.length === 1) details.append(...[content()].flat());
  });
  details.open = open;
  return details;
}

// A table that shows `step` more rows at each click. `row(i)` makes row i.
function longTable(caption, heads, count, row, step = 100) {
  const body = make('tbody', {});
  const note = make('caption', {});
  const more = make('button', {type: 'button', click: () => add()}, 'Show more');
  let at = 0;
  function add() {
    const to = Math.min(count, at + step);
    for (; at < to; ++at) body.append(row(at));
    note.textContent = at < count ? `${caption}: the first ${at.toLocaleString('en')} of ${count.toLocaleString('en')}` : caption;
    more.hidden = at >= count;
  }
  add();
  return make('div', {class: 'wide', tabindex: '0', role: 'region', 'aria-label': `Table: ${caption}`}, make('table', {}, note, make('thead', {}, make('tr', {}, heads.map(head => make('th', {scope: 'col'}, head)))), body), more);
}
const cells = values => make('tr', {}, values.map(value => typeof value === 'number'
    ? make('td', {class: 'number'}, value.toLocaleString('en')) : make('td', {class: typeof value === 'string' && value.length <= 24 ? 'short' : null}, value instanceof Node ? value : shown(value))));

const sections = [];
function section(id, title, ...content) {
  sections.push([id, title]);
  document.getElementById('main').append(make('section', {id, 'aria-labelledby': id + '-title'}, make('h2', {id: id + '-title', tabindex: '-1'}, title), ...content));
}

// Colours that differ not only in hue. The index wraps around.
const kPalette = ['#3b78c9', '#c9703b', '#3a9a6b', '#a25bbd', '#b8972c', '#2f9aa8', '#c04f7c', '#6d7f2f'];
const colorOf = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
// Gives a canvas the screen's resolution. Returns its context, which counts in CSS pixels.
function sharp(canvas) {
  const ratio = window.devicePixelRatio || 1, box = canvas.getBoundingClientRect();
  const width = Math.max(1, Math.round(box.width)), height = Math.max(1, Math.round(box.height));
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext('2d');
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return {context, width, height};
}
function swatch(color) {
  const box = make('canvas', {width: 12, height: 12, 'aria-hidden': 'true'});
  const context = box.getContext('2d');
  context.fillStyle = color;
  context.fillRect(0, 0, 12, 12);
  return box;
}
