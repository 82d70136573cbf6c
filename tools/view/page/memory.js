// SPDX-License-Identifier: Apache-2.0
// Physical memory over time by the stack that made it, and memory that processes share.
'use strict';

// The stacks that made a process's memory, the largest first: a row for each stack id, with its
// bytes over time.
class Creators {
  constructor(process) {
    this.process = process;
    const events = [];
    for (let i = 0; i < process.count; ++i) {
      if (!isPhysical(process.kindOf(i))) continue;
      events.push([process.from(i), process.size[i], process.stack[i]]);
      if (!process.alive(i)) events.push([process.end[i], -process.size[i], process.stack[i]]);
    }
    events.sort((a, b) => a[0] - b[0]);
    this.events = events;
    const known = new Map();
    let total = 0;
    this.peak = 0;
    this.peakNs = 0;
    for (const [ns, change, stack] of events) {
      if (!known.has(stack)) known.set(stack, {stack, now: 0, peak: 0, made: 0, count: 0});
      const one = known.get(stack);
      one.now += change;
      one.peak = Math.max(one.peak, one.now);
      if (change > 0) { one.made += change; ++one.count; }
      total += change;
      if (total > this.peak) { this.peak = total; this.peakNs = ns; }
    }
    this.rows = [...known.values()].sort((a, b) => b.peak - a.peak);
    this.place = new Map(this.rows.map((row, i) => [row.stack, Math.min(i, kPalette.length - 1)]));
  }
  // For each pixel, the bytes of each group at the pixel's moment with the largest sum.
  columns(width) {
    const groups = Math.min(this.rows.length, kPalette.length);
    const sums = new Float64Array(groups), columns = Array.from({length: width}, () => null);
    let at = 0;
    for (let x = 0; x < width; ++x) {
      const until = (x + 1) / width * this.process.end_ns;
      let best = sums.reduce((a, b) => a + b, 0), kept = Float64Array.from(sums), total = best;
      for (; at < this.events.length && this.events[at][0] <= until; ++at) {
        const [, change, stack] = this.events[at];
        sums[this.place.get(stack)] += change;
        total += change;
        if (total > best) { best = total; kept = Float64Array.from(sums); }
      }
      columns[x] = kept;
    }
    return columns;
  }
}

function memoryView(process) {
  const creators = new Creators(process);
  const canvas = make('canvas', {class: 'chart', role: 'img', 'aria-label': `Physical memory of process ${process.pid} over time, at most ${bytes(creators.peak)}. The table below tells it in words.`});
  function draw() {
    const {context, width, height} = sharp(canvas);
    const most = Math.max(creators.peak, 1);
    creators.columns(width).forEach((sums, x) => {
      let base = height;
      sums.forEach((sum, group) => {
        const tall = sum / most * (height - 16);
        if (tall <= 0) return;
        context.fillStyle = kPalette[group];
        context.fillRect(x, base - tall, 1, tall);
        base -= tall;
      });
    });
    context.fillStyle = colorOf('--dim');
    context.font = '11px sans-serif';
    context.textBaseline = 'top';
    context.fillText(`${bytes(creators.peak)} at ${time(creators.peakNs)}`, 4, 2);
  }
  new ResizeObserver(() => requestAnimationFrame(draw)).observe(canvas);
  window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
  const peak = plain(process.peak);
  const words = [`The peak was ${bytes(peak.bytes || 0)}, ${time(peak.ns || 0)} after the start (call ${peak.call || 0}).`];
  if (process.dropped) words.push(` Between ${time(process.dropped.from_ns)} and ${time(process.dropped.until_ns)}, ${counted(process.dropped.events, 'event was', 'events were')} not kept: the picture is incomplete there, the peak is not.`);
  if (process.left_out) words.push(` ${counted(process.left_out, 'object', 'objects')} that lived shortest are left out.`);
  const use = process.useAt(peak.ns || 0);
  if (use && Object.values(use).some(sum => sum > 0)) {
    words.push(` Of cuMemCreate's memory, ${bytes(use.mapping)} were mapped then`);
    if (use['multicast binding']) words.push(`, ${bytes(use['multicast binding'])} only bound to a multicast object`);
    if (use['sparse mapping']) words.push(`, ${bytes(use['sparse mapping'])} only in a sparse array`);
    words.push(`; handles alone kept ${bytes(use.none)}.`);
  }
  return [make('p', {}, words), canvas,
    make('ul', {class: 'legend'}, creators.rows.slice(0, kPalette.length).map((row, i) => make('li', {}, swatch(kPalette[i]), i === kPalette.length - 1 && creators.rows.length > kPalette.length ? 'all others' : shown(siteText(process.stackOf(row.stack)))))),
    longTable('Who made it', ['Place', 'Peak', 'At the end', 'Made in all', 'Objects'], creators.rows.length, i => {
      const row = creators.rows[i], stack = process.stackOf(row.stack);
      return cells([stack.length ? opening(shown(siteText(stack)), () => stackView(stack)) : 'no stack is known', bytes(row.peak), bytes(row.now), bytes(row.made), row.count]);
    }, 20), ...usesTable(process)];
}

// The uses of memory that have no addresses, so that the picture cannot show them.
function usesTable(process) {
  const uses = process.uses;
  if (uses.length === 0) return [];
  return [longTable('Bound to multicast objects, or mapped into sparse arrays', ['Memory', 'Used by', 'Offset', 'Size', 'Device', 'Call', 'From', 'Until', 'Where'], uses.length, n => {
    const i = uses[n], binding = process.kindOf(i) === 'multicast binding';
    return cells([process.handle[i] ? hex(process.handle[i]) : 'not known', `${binding ? 'multicast object' : 'sparse array'} ${hex(process.value[i])}`,
                  process.handle[i] ? `${bytes(process.offset[i])} in the ${binding ? 'object' : 'memory'}` : 'not known', process.size[i] > 0 ? bytes(process.size[i]) : 'not known', process.device[i] >= 0 ? process.device[i] : '',
                  process.beginCall[i], time(process.begin[i]), process.alive(i) ? 'the end' : `${time(process.end[i])} (call ${process.endCall[i]})`, siteText(process.stackOf(process.stack[i]))]);
  }, 20)];
}

function spaceSection() {
  const recorded = 'Record it with cuvmm run --report FILE.html, or --timeline with FILE.json.';
  if (processes.length === 0) {
    section('space', 'Memory over time', make('p', {class: 'dim'}, `This report has no timeline. ${recorded}`));
    return;
  }
  const said = make('p', {class: 'said', role: 'status', 'aria-live': 'polite'});
  const holder = make('div', {}), memory = make('div', {}), table = make('div', {});
  const words = make('details', {}, make('summary', {}, 'The same in words'), table);
  const slider = make('input', {type: 'range', id: 'moment', min: '0', max: '1000', value: '1000', input: () => view.setCursor(slider.value / 1000 * view.process.end_ns)});
  const legend = make('ul', {class: 'legend'});
  let view = null, waits = null;
  // Shows the moment of the slider as text and as a table.
  function tell(ns) {
    slider.value = String(Math.round(ns / view.process.end_ns * 1000));
    slider.setAttribute('aria-valuetext', time(ns));
    clearTimeout(waits);
    waits = setTimeout(() => {
      const there = view.items.filter(item => item.left <= ns && (item.right > ns || view.process.alive(item.i))).map(item => item.i)
          .sort((a, b) => view.process.value[a] - view.process.value[b]);
      table.replaceChildren(longTable(`At ${time(ns)}: ${counted(there.length, 'object', 'objects')} in the address space`, ['Address', 'What', 'Size', 'Device', 'Handle', 'Access', 'Call', 'Made at'], there.length, n => {
        const i = there[n], p = view.process;
        return cells([hex(p.value[i]), p.kindOf(i), bytes(p.size[i]), p.device[i] >= 0 ? p.device[i] : '', p.handle[i] ? hex(p.handle[i]) : '', view.access.get(i) || '', p.beginCall[i], siteText(p.stackOf(p.stack[i]))]);
      }, 50));
    }, 60);
  }
  function choose(index) {
    view = new SpaceView(processes[index], said, tell);
    window.cuvmmView = view;  // for users of the browser's console
    holder.replaceChildren(view.canvas);
    memory.replaceChildren(...memoryView(processes[index]));
    const devices = new Set();
    for (const {i} of view.memory) devices.add(view.process.device[i]);
    legend.replaceChildren(make('li', {}, swatch(colorOf('--empty')), 'reserved, not mapped'),
        ...[...devices].sort((a, b) => a - b).map(device => make('li', {}, swatch(device < 0 ? kPalette[7] : kPalette[device % 7]), device < 0 ? 'memory of the host, or not known' : `memory of device ${device}`)),
        make('li', {}, swatch(colorOf('--none')), 'mapped, nobody has access'), make('li', {}, swatch(colorOf('--mark')), 'finding'));
    tell(view.cursor);
  }
  const picker = make('select', {id: 'process', change: () => choose(Number(picker.value))}, processes.map((p, i) => make('option', {value: i}, `${p.pid} ${String(p.program || '').slice(-60)}`)));
  const button = (label, title, act) => make('button', {type: 'button', title, 'aria-label': title, click: act}, label);
  section('space', 'Address space over time',
      make('div', {class: 'tools'}, make('label', {for: 'process'}, 'Process'), picker, button('+', 'Zoom in', () => view.zoom(.6)), button('−', 'Zoom out', () => view.zoom(1.6)),
          button('All', 'Show all', () => { view.reset(); view.redraw(); }), button('Next finding', 'Next finding', () => view.nextMark(1)),
          make('label', {for: 'moment'}, 'Moment'), slider),
      legend, holder, said,
      make('p', {class: 'dim', id: 'space-keys'}, 'Time goes right, addresses go down. In the picture: arrows move, + and − zoom, x and y zoom in one direction (with Shift: out), 0 shows all, n and p go to findings, Enter tells what is in the middle. Wheel: zoom (with Shift: addresses only, with Alt: time only).'),
      words);
  section('memory', 'Physical memory over time', memory);
  choose(0);
}

function trafficSection() {
  const words = {export: 'exported a descriptor', import: 'imported memory', 'ipc memory': 'opened IPC memory', 'external memory': 'imported memory of another API'};
  const rows = [];
  for (const process of processes) {
    for (let i = 0; i < process.count; ++i) {
      const kind = process.kindOf(i);
      if (words[kind]) rows.push([process, i]);
    }
  }
  const related = findings.filter(finding => list(finding.related).length);
  if (rows.length === 0 && related.length === 0) return;
  const at = ([process, i]) => (process.start_ns || 0) + process.from(i);
  rows.sort((a, b) => at(a) - at(b));
  const start = rows.length ? at(rows[0]) : 0;
  section('traffic', 'Between processes',
      rows.length ? longTable('Descriptors, legacy IPC and external memory, by time', ['After', 'Process', 'What', 'Value', 'Size', 'Call', 'Ended', 'Where'], rows.length, n => {
        const [process, i] = rows[n], kind = process.kindOf(i);
        return cells([time(at(rows[n]) - start), process.pid, words[kind], kind === 'export' ? `${process.value[i]} of handle ${hex(process.handle[i])}` : hex(process.value[i]), process.size[i] ? bytes(process.size[i]) : 'not known', process.beginCall[i], process.alive(i) ? 'no' : `call ${process.endCall[i]}`, siteText(process.stackOf(process.stack[i]))]);
      }) : null,
      related.length ? longTable('Leaks of several processes that keep one memory alive', ['Process', 'Leak', 'Also kept by'], related.length, n => cells([related[n].pid, related[n].rule, list(related[n].related).map(other => `${other.pid} (${other.rule})`).join(', ')])) : null);
}
