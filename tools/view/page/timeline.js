// SPDX-License-Identifier: Apache-2.0
// The timeline of one process as columns, and the layout of its addresses in a picture.
'use strict';
const timeline = plain(report.timeline);
const kKinds = list(timeline.kinds);
const kUnknown = -1;
const isPhysical = kind => ['allocation', 'device memory', 'managed memory', 'pool memory'].includes(kind);
// Kinds of uses of memory without a mapping.
const isUse = kind => kind === 'multicast binding' || kind === 'sparse mapping';
const hasAddresses = kind => ['reservation', 'mapping', 'device memory', 'managed memory', 'pool memory', 'ipc memory', 'external buffer'].includes(kind);

class Process {
  constructor(json) {
    Object.assign(this, json);
    const rows = list(json.objects);
    this.count = rows.length;
    this.end_ns = Math.max(1, json.end_ns);
    const column = i => Float64Array.from(rows, row => Number(row[i]));
    this.kind = Uint8Array.from(rows, row => row[0]);
    this.value = column(1);
    this.size = column(2);
    this.begin = column(3);
    this.end = column(4);
    this.beginCall = column(5);
    this.endCall = column(6);
    this.thread = column(7);
    this.stack = column(9);
    this.endStack = column(10);
    this.device = column(11);
    this.handle = column(12);
    this.offset = column(13);
    this.deviceOfMappings();
    this.uses = [];
    for (let i = 0; i < this.count; ++i) if (isUse(this.kindOf(i))) this.uses.push(i);
    this.callTimes = null;
  }
  kindOf(i) { return kKinds[this.kind[i]]; }
  alive(i) { return this.endCall[i] === 0; }
  from(i) { return Math.max(0, this.begin[i]); }
  until(i) { return this.alive(i) ? this.end_ns : this.end[i]; }
  stackOf(id) { return list(plain(this.stacks)[id]); }
  // Gives each mapping the device of its memory.
  deviceOfMappings() {
    this.memoryOf = new Map();
    const byHandle = new Map();
    for (let i = 0; i < this.count; ++i) {
      const kind = this.kindOf(i);
      if (kind === 'allocation' || kind === 'import' || kind === 'multicast object') {
        if (!byHandle.has(this.value[i])) byHandle.set(this.value[i], []);
        byHandle.get(this.value[i]).push(i);
      }
    }
    for (let i = 0; i < this.count; ++i) {
      if (this.kindOf(i) !== 'mapping') continue;
      const memory = (byHandle.get(this.handle[i]) || []).find(m => this.from(m) <= this.from(i) && this.until(m) >= this.from(i));
      if (memory === undefined) continue;
      this.device[i] = this.device[memory];
      this.memoryOf.set(i, memory);
    }
  }
  livesAt(i, ns) { return this.from(i) <= ns && (this.alive(i) || this.end[i] > ns); }
  // The index of a finding's object; -1 if the timeline lacks it.
  find(object) {
    const value = Number(object.value), call = object.made_by_call || 0;
    if (this.uses.length === 0 || call === 0) return -1;
    for (let i = 0; i < this.count; ++i) if (this.value[i] === value && this.beginCall[i] === call && !isUse(this.kindOf(i))) return i;
    return -1;
  }
  // The uses of an allocation, the bindings in a multicast object, or the uses of a mapping's
  // memory.
  usesOf(i) {
    const kind = this.kindOf(i);
    if (kind === 'mapping') return this.memoryOf.has(i) ? this.usesOf(this.memoryOf.get(i)).filter(use => this.from(use) <= this.until(i) && this.until(use) >= this.from(i)) : [];
    const during = use => this.from(use) >= this.from(i) && this.from(use) <= this.until(i);
    const bound = use => this.kindOf(use) === 'multicast binding' && this.value[use] === this.value[i];
    if (kind === 'multicast object') return this.uses.filter(use => bound(use) && during(use));
    if (kind !== 'allocation' && kind !== 'import') return [];
    return this.uses.filter(use => (this.handle[use] === this.value[i] || (kind === 'import' && bound(use))) && during(use));
  }
  useText(use) {
    const device = this.device[use] >= 0 ? `, device ${this.device[use]}` : '', size = this.size[use] > 0 ? bytes(this.size[use]) : 'size not known';
    const place = this.handle[use] === 0 ? `memory that is not known in ${hex(this.value[use])}`
        : this.kindOf(use) === 'multicast binding' ? `handle ${hex(this.handle[use])} bound to multicast object ${hex(this.value[use])} at offset ${bytes(this.offset[use])}`
        : `handle ${hex(this.handle[use])} from offset ${bytes(this.offset[use])} mapped into sparse array ${hex(this.value[use])}`;
    return `${place} (${size}${device}), from ${time(this.begin[use])} (call ${this.beginCall[use]}) ${this.endText(use)}`;
  }
  endText(i) { return this.alive(i) ? 'lived to the end' : `until ${time(this.end[i])} (call ${this.endCall[i]})`; }
  // Bytes of cuMemCreate's memory by kind of use at a moment. An allocation counts for the first
  // kind of use that it has. An allocation made at that moment counts for its later uses. Null if
  // the timeline lacks objects.
  useAt(ns) {
    if (this.dropped || this.left_out) return null;
    const handles = {mapping: new Set(), 'multicast binding': new Set(), 'sparse mapping': new Set()};
    const fresh = new Map();
    for (let i = 0; i < this.count; ++i) if (this.kindOf(i) === 'allocation' && this.begin[i] === ns) fresh.set(this.value[i], this.until(i));
    for (let i = 0; i < this.count; ++i) {
      const users = handles[this.kindOf(i)], later = this.begin[i] >= ns && this.begin[i] <= fresh.get(this.handle[i]);
      if (users && (later || this.livesAt(i, ns))) users.add(this.handle[i]);
    }
    const sums = {mapping: 0, 'multicast binding': 0, 'sparse mapping': 0, none: 0};
    for (let i = 0; i < this.count; ++i) {
      if (this.kindOf(i) !== 'allocation' || !this.livesAt(i, ns)) continue;
      const kind = Object.keys(handles).find(one => handles[one].has(this.value[i])) || 'none';
      sums[kind] += this.size[i];
    }
    return sums;
  }
  // The time of a call: that of the last event at or before it.
  timeOfCall(call) {
    if (!call) return this.end_ns;
    if (!this.callTimes) {
      const pairs = [];
      for (let i = 0; i < this.count; ++i) {
        if (this.begin[i] >= 0) pairs.push([this.beginCall[i], this.begin[i]]);
        if (!this.alive(i)) pairs.push([this.endCall[i], this.end[i]]);
      }
      for (const row of list(this.access)) pairs.push([row[1], row[0]]);
      for (const row of list(this.samples)) pairs.push([row[1], row[0]]);
      this.callTimes = pairs.sort((a, b) => a[0] - b[0]);
    }
    let low = 0, high = this.callTimes.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.callTimes[middle][0] <= call) low = middle + 1; else high = middle;
    }
    return low === 0 ? 0 : this.callTimes[low - 1][1];
  }
}
const processes = list(timeline.processes).map(json => new Process(plain(json)));

// The layout of all addresses that were ever used, one after the other. Gaps between them are left
// out, and ranges that were reserved but never mapped are small.
class Layout {
  constructor(process) {
    const used = [], reserved = [];
    for (let i = 0; i < process.count; ++i) {
      const kind = process.kindOf(i), range = [process.value[i], process.value[i] + process.size[i]];
      if (!hasAddresses(kind) || !(process.size[i] > 0) || !Number.isFinite(range[1])) continue;
      (kind === 'reservation' ? reserved : used).push(range);
    }
    const mapped = Layout.union(used), all = Layout.union(used.concat(reserved));
    const total = mapped.reduce((sum, [from, to]) => sum + to - from, 0) || all.reduce((sum, [from, to]) => sum + to - from, 0) || 1;
    const most = total * .04, gap = total * .01;
    this.pieces = [];  // [from, to, y, height]
    let y = 0, next = 0;
    for (const [from, to] of all) {
      let at = from;
      const add = (end, most) => {
        if (end <= at) return;
        const height = Math.min(end - at, most);
        this.pieces.push([at, end, y, height]);
        y += height;
        at = end;
      };
      while (next < mapped.length && mapped[next][0] < to) {
        add(mapped[next][0], most);
        add(mapped[next][1], Infinity);
        ++next;
      }
      add(to, mapped.length ? most : Infinity);
      y += gap;
    }
    this.height = Math.max(y - gap, 1);
  }
  static union(ranges) {
    ranges.sort((a, b) => a[0] - b[0]);
    const result = [];
    for (const [from, to] of ranges) {
      const last = result[result.length - 1];
      if (last && from <= last[1]) last[1] = Math.max(last[1], to); else result.push([from, to]);
    }
    return result;
  }
  find(key, value) {
    let low = 0, high = this.pieces.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.pieces[middle][key] <= value) low = middle + 1; else high = middle;
    }
    return this.pieces[Math.max(0, low - 1)];
  }
  holds(address) {
    if (this.pieces.length === 0) return false;
    const [from, to] = this.find(0, address);
    return from <= address && address < to;
  }
  y(address) {
    if (this.pieces.length === 0) return 0;
    const [from, to, y, height] = this.find(0, address);
    return y + Math.min(1, Math.max(0, (address - from) / (to - from))) * height;
  }
  address(y) {
    if (this.pieces.length === 0) return 0;
    const [from, to, top, height] = this.find(2, y);
    return Math.floor(from + Math.min(1, Math.max(0, (y - top) / height)) * (to - from));
  }
}
