// SPDX-License-Identifier: Apache-2.0
// The address space over time: time goes right, addresses go down. Each change of the view draws
// the picture anew: only objects inside the view, and one object for each pixel.
'use strict';

const kNonePaint = kPalette.length, kEmptyPaint = kPalette.length + 1;

class SpaceView {
  constructor(process, said, cursorMoved) {
    this.process = process;
    this.said = said;
    this.cursorMoved = cursorMoved;
    this.layout = new Layout(process);
    this.cursor = process.end_ns;
    this.canvas = make('canvas', {class: 'space', tabindex: '0', role: 'application', 'aria-describedby': 'space-keys',
      'aria-label': `Address space of process ${process.pid} over time. The table below tells the same in words.`});
    this.items = [];
    for (let i = 0; i < process.count; ++i) {
      if (!hasAddresses(process.kindOf(i)) || !(process.size[i] > 0)) continue;
      const top = this.layout.y(process.value[i]), bottom = this.layout.y(process.value[i] + process.size[i]);
      this.items.push({i, top, bottom, left: process.from(i), right: process.until(i), reservation: process.kindOf(i) === 'reservation'});
    }
    // Reservations are drawn first, so that mappings cover them. Both lists are sorted by address.
    this.reservations = this.items.filter(item => item.reservation).sort((a, b) => a.top - b.top);
    this.memory = this.items.filter(item => !item.reservation).sort((a, b) => a.top - b.top);
    // item.lowest: the largest `bottom` of this item and all before it. It never falls, so first()
    // can search it.
    for (const items of [this.reservations, this.memory]) {
      let lowest = -Infinity;
      for (const item of items) item.lowest = lowest = Math.max(lowest, item.bottom);
    }
    for (const item of this.items) item.paint = this.paintOf(item.i);
    this.marks = findings.filter(finding => finding.pid === process.pid).map(finding => this.markOf(finding));
    this.reset();
    this.listen();
  }
  // The mark of a finding: at its first object with an address, else at an address among the call's
  // arguments.
  markOf(finding) {
    const kinds = ['reservation', 'mapping', 'memory', 'pool-memory', 'ipc-memory'];
    const objects = list(finding.objects).map(plain).filter(object => kinds.includes(object.what)).map(object => Number(object.value));
    const given = Object.values(plain(finding.arguments)).filter(value => /^0x/.test(value)).map(Number);
    const address = objects.find(Number.isFinite) ?? given.find(value => this.layout.holds(value));
    return {finding, ns: this.process.timeOfCall(finding.call_index), top: address === undefined ? null : this.layout.y(address)};
  }
  // Shows the time from the first change to the last one, with a margin, because a program may do
  // much before and after. Zooming out shows the rest.
  reset() {
    const end = this.process.end_ns;
    let first = Infinity, last = -Infinity;
    const reach = ns => { if (ns > 0 && ns < end) { first = Math.min(first, ns); last = Math.max(last, ns); } };
    for (const item of this.items) { reach(item.left); reach(item.right); }
    for (const mark of this.marks) reach(mark.ns);
    const known = last > first, margin = (last - first) * .05;
    this.latest = known ? Math.min(end, last + margin) : end;
    this.view = {left: known ? Math.max(0, first - margin) : 0, right: this.latest, top: 0, bottom: this.layout.height};
  }
  // Findings of the end of the process are at the right edge of the whole picture.
  markX(mark) {
    const x = this.x(mark.ns);
    return mark.ns >= this.process.end_ns && this.view.right >= this.latest ? Math.min(x, this.width) : x;
  }
  x(ns) { return (ns - this.view.left) / (this.view.right - this.view.left) * this.width; }
  y(at) { return (at - this.view.top) / (this.view.bottom - this.view.top) * this.height; }

  // The index in `fills`: by the memory's device, or for a mapping without access.
  paintOf(i) {
    if (this.process.kindOf(i) === 'reservation') return kEmptyPaint;
    if (this.process.kindOf(i) === 'mapping' && this.access.get(i) === 'none') return kNonePaint;
    return this.process.device[i] < 0 ? 7 : this.process.device[i] % 7;
  }
  // The access of each mapping at the end of its life: the last change of access that covers its
  // start.
  get access() {
    if (this.accessOf) return this.accessOf;
    this.accessOf = new Map();
    const changes = list(this.process.access), latest = new Map();
    for (const [ns, , , address, size, location, flags] of changes) {
      if (!latest.has(address)) latest.set(address, []);
      latest.get(address).push({ns, size, location, flags});
    }
    const starts = Float64Array.from(latest.keys()).sort();
    let longest = 0;
    for (const one of changes) longest = Math.max(longest, one[4]);
    for (const {i} of this.memory) {
      if (this.process.kindOf(i) !== 'mapping') continue;
      const words = new Map();
      let at = this.upper(starts, this.process.value[i]) - 1;
      for (let looked = 0; at >= 0 && looked < 64 && this.process.value[i] - starts[at] < longest; --at, ++looked) {
        for (const one of latest.get(starts[at])) {
          if (this.process.value[i] - starts[at] >= one.size || one.ns < this.process.from(i) || one.ns > this.process.until(i)) continue;
          const known = words.get(one.location);
          if (!known || known.ns <= one.ns) words.set(one.location, one);
        }
      }
      const text = [...words].filter(([, one]) => one.flags).map(([location, one]) => `${location} ${one.flags === 3 ? 'rw' : one.flags === 1 ? 'r' : one.flags}`).join(', ');
      this.accessOf.set(i, text || 'none');
    }
    return this.accessOf;
  }
  upper(values, value) {
    let low = 0, high = values.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (values[middle] <= value) low = middle + 1; else high = middle;
    }
    return low;
  }
  // The first of `items` that may reach into the view.
  first(items, top) {
    let low = 0, high = items.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (items[middle].lowest < top) low = middle + 1; else high = middle;
    }
    return low;
  }

  draw() {
    const {context, width, height} = sharp(this.canvas);
    this.width = width;
    this.height = height;
    this.drawn = 0;
    const fills = [...kPalette, colorOf('--none'), colorOf('--empty')];
    this.drawItems(context, this.reservations, fills);
    this.drawItems(context, this.memory, fills);
    this.drawMarks(context);
    context.strokeStyle = colorOf('--text');
    context.setLineDash([4, 3]);
    context.beginPath();
    context.moveTo(this.x(this.cursor), 0);
    context.lineTo(this.x(this.cursor), height);
    context.stroke();
    context.setLineDash([]);
    context.font = '11px sans-serif';
    context.textBaseline = 'top';
    const right = time(this.view.right);
    this.label(context, time(this.view.left), 3, height - 17);
    this.label(context, right, width - 9 - context.measureText(right).width, height - 17);
    this.label(context, hex(this.layout.address(Math.max(0, this.view.top))), 3, 3);
  }
  label(context, text, x, y) {
    context.fillStyle = colorOf('--back');
    context.fillRect(x, y, context.measureText(text).width + 6, 14);
    context.fillStyle = colorOf('--text');
    context.fillText(text, x + 3, y + 2);
  }
  drawItems(context, items, fills) {
    const width = this.width, height = this.height, wide = Math.ceil(width), rows = Math.ceil(height);
    // Objects lower than a pixel are painted into cells first, because many of them then cost
    // little.
    const cells = new Uint8Array(wide * rows);
    let thin = false;
    const {left, right, top, bottom} = this.view, perNs = width / (right - left), perByte = height / (bottom - top);
    for (let n = this.first(items, top); n < items.length; ++n) {
      const item = items[n];
      if (item.top > bottom) break;
      if (item.right < left || item.left > right || item.bottom < top) continue;
      ++this.drawn;
      const x0 = Math.max(-1, (item.left - left) * perNs), x1 = Math.min(width + 1, Math.max((item.right - left) * perNs, x0 + 1));
      const y0 = (item.top - top) * perByte, y1 = (item.bottom - top) * perByte;
      if (y1 - y0 < 1) {
        const row = Math.min(rows - 1, Math.max(0, Math.floor(y0))) * wide;
        cells.fill(item.paint + 1, row + Math.max(0, Math.floor(x0)), row + Math.min(wide, Math.ceil(x1)));
        thin = true;
        continue;
      }
      const from = Math.max(-1, y0), tall = Math.min(height + 1, y1) - from;
      context.fillStyle = fills[item.paint];
      context.fillRect(x0, from, x1 - x0, tall > 4 ? tall - 1 : tall);
    }
    if (thin) this.drawCells(context, cells, fills, wide, rows);
  }
  drawCells(context, cells, fills, wide, rows) {
    const word = color => (0xff000000 | parseInt(color.slice(5, 7) + color.slice(3, 5) + color.slice(1, 3), 16)) >>> 0;
    const words = [0, ...fills.map(word)];
    const image = new ImageData(wide, rows), pixels = new Uint32Array(image.data.buffer);
    for (let i = 0; i < cells.length; ++i) if (cells[i] !== 0) pixels[i] = words[cells[i]];
    this.between ??= document.createElement('canvas');
    if (this.between.width !== wide || this.between.height !== rows) { this.between.width = wide; this.between.height = rows; }
    this.between.getContext('2d').putImageData(image, 0, 0);
    context.drawImage(this.between, 0, 0, wide, rows);
  }
  drawMarks(context) {
    context.fillStyle = colorOf('--mark');
    for (const mark of this.marks) {
      const x = this.markX(mark), y = mark.top === null ? 8 : this.y(mark.top);
      if (x < -6 || x > this.width + 6 || y < -6 || y > this.height + 6) continue;
      context.beginPath();
      context.moveTo(x, y - 6); context.lineTo(x + 6, y); context.lineTo(x, y + 6); context.lineTo(x - 6, y);
      context.fill();
    }
  }

  // The finding, memory or reservation at this place of the picture.
  at(px, py) {
    for (const mark of this.marks) {
      if (Math.abs(this.markX(mark) - px) < 8 && Math.abs((mark.top === null ? 8 : this.y(mark.top)) - py) < 8) return {mark};
    }
    const ns = this.view.left + px / this.width * (this.view.right - this.view.left);
    const y = this.view.top + py / this.height * (this.view.bottom - this.view.top);
    for (const items of [this.memory, this.reservations]) {
      for (let n = this.first(items, y); n < items.length && items[n].top <= y; ++n) {
        const item = items[n];
        if (y < item.bottom && ns >= item.left && ns <= item.right) return {item, ns, y};
      }
    }
    return {ns, y};
  }
  describe(i) {
    const p = this.process, kind = p.kindOf(i);
    const device = p.device[i] >= 0 ? `, device ${p.device[i]}` : '';
    const access = kind === 'mapping' ? `, access: ${this.access.get(i)}` : '';
    const uses = kind === 'mapping' ? p.usesOf(i) : [];
    const used = uses.length ? `; ${p.useText(uses[0])}${uses.length > 1 ? ` and ${counted(uses.length - 1, 'more use', 'more uses')} of it` : ''}` : '';
    const handle = p.handle[i] ? `, handle ${hex(p.handle[i])}` : '';
    return `${kind} ${hex(p.value[i])}, ${bytes(p.size[i])}${device}${handle}${access}, from ${time(p.begin[i])} (call ${p.beginCall[i]}) ${p.endText(i)}${used}`;
  }
  say(found) {
    if (found.mark) this.said.replaceChildren(`${found.mark.finding.kind} at ${time(found.mark.ns)}: `, shown(found.mark.finding.message));
    else if (found.item) this.said.textContent = this.describe(found.item.i);
    else if (found.ns !== undefined) this.said.textContent = `${time(found.ns)}, ${hex(this.layout.address(found.y))}: nothing`;
  }

  zoom(factor, px = this.width / 2, py = this.height / 2, alongX = true, alongY = true) {
    const v = this.view;
    const least = [Math.min(100, this.process.end_ns), Math.min(4096, this.layout.height)];
    if (alongX) [v.left, v.right] = this.range(v.left, v.right, px / this.width, factor, least[0], 0, this.process.end_ns);
    if (alongY) [v.top, v.bottom] = this.range(v.top, v.bottom, py / this.height, factor, least[1], 0, this.layout.height);
    this.redraw();
  }
  range(from, to, at, factor, least, low, high) {
    const middle = from + (to - from) * at;
    const length = Math.min(high - low, Math.max(least, (to - from) * factor));
    return this.clamp(middle - length * at, length, low, high);
  }
  clamp(from, length, low, high) {
    const start = Math.max(low, Math.min(from, high - length));
    return [start, start + length];
  }
  move(dx, dy) {
    const v = this.view, width = v.right - v.left, height = v.bottom - v.top;
    [v.left, v.right] = this.clamp(v.left + dx * width, width, 0, this.process.end_ns);
    [v.top, v.bottom] = this.clamp(v.top + dy * height, height, 0, this.layout.height);
    this.redraw();
  }
  setCursor(ns) {
    this.cursor = Math.max(0, Math.min(ns, this.process.end_ns));
    this.cursorMoved(this.cursor);
    this.redraw();
  }
  redraw() {
    if (this.waits) return;
    this.waits = true;
    requestAnimationFrame(() => { this.waits = false; this.draw(); });
  }
  listen() {
    const canvas = this.canvas;
    canvas.addEventListener('wheel', event => {
      event.preventDefault();
      this.zoom(event.deltaY > 0 ? 1.25 : .8, event.offsetX, event.offsetY, !event.shiftKey, !event.altKey);
    }, {passive: false});
    let drag = null;
    canvas.addEventListener('pointerdown', event => { drag = {x: event.offsetX, y: event.offsetY, moved: false}; canvas.setPointerCapture(event.pointerId); });
    canvas.addEventListener('pointermove', event => {
      if (drag && Math.hypot(event.offsetX - drag.x, event.offsetY - drag.y) > 3) {
        this.move((drag.x - event.offsetX) / this.width, (drag.y - event.offsetY) / this.height);
        drag = {x: event.offsetX, y: event.offsetY, moved: true};
      } else if (!drag) this.say(this.at(event.offsetX, event.offsetY));
    });
    canvas.addEventListener('pointerup', event => {
      if (drag && !drag.moved) {
        const found = this.at(event.offsetX, event.offsetY);
        this.say(found);
        if (found.ns !== undefined) this.setCursor(found.ns);
      }
      drag = null;
    });
    const keys = {
      ArrowLeft: () => this.move(-.1, 0), ArrowRight: () => this.move(.1, 0), ArrowUp: () => this.move(0, -.1), ArrowDown: () => this.move(0, .1),
      '+': () => this.zoom(.7), '=': () => this.zoom(.7), '-': () => this.zoom(1.4), x: () => this.zoom(.7, undefined, undefined, true, false),
      X: () => this.zoom(1.4, undefined, undefined, true, false), y: () => this.zoom(.7, undefined, undefined, false, true),
      Y: () => this.zoom(1.4, undefined, undefined, false, true), 0: () => { this.reset(); this.redraw(); },
      Enter: () => this.say(this.at(this.width / 2, this.height / 2)),
      n: () => this.nextMark(1), p: () => this.nextMark(-1),
    };
    canvas.addEventListener('keydown', event => {
      if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
      event.preventDefault();
      keys[event.key]();
    });
    new ResizeObserver(() => this.redraw()).observe(canvas);
    window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.redraw());
  }
  nextMark(step) {
    if (this.marks.length === 0) { this.said.textContent = 'There are no findings here.'; return; }
    this.mark = ((this.mark ?? (step > 0 ? -1 : 0)) + step + this.marks.length) % this.marks.length;
    this.setCursor(this.marks[this.mark].ns);
    this.say({mark: this.marks[this.mark]});
  }
}
