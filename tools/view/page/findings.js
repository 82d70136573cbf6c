// SPDX-License-Identifier: Apache-2.0
// The verdict, the findings by rule and place, leaks, refusals, and the other parts without a
// canvas.
'use strict';
const findings = list(report.findings).map(plain);
const kOrder = ['error', 'undefined', 'leak', 'advice', 'answer'];

function verdict() {
  const sums = plain(report.summary);
  const wrong = ['error', 'undefined', 'leak'].map(kind => [kind, sums[kind] || 0]);
  const title = document.getElementById('verdict');
  const bad = wrong.some(([, count]) => count > 0);
  title.className = bad ? 'bad' : 'good';
  title.textContent = bad
      ? `Found: ${counted(sums.error || 0, 'error', 'errors')}, ${sums.undefined || 0} undefined, ${counted(sums.leak || 0, 'leak', 'leaks')}`
      : report.processes === 0 ? 'Nothing was checked: no process used a CUDA driver' : 'No error, no undefined behaviour, no leak';
  document.title = 'cuvmm: ' + title.textContent;
  const driver = plain(report.driver);
  const calls = Object.values(plain(report.calls)).reduce((a, b) => a + b, 0);
  const version = driver.version ? `, CUDA ${Math.floor(driver.version / 1000)}.${driver.version % 1000 / 10}` : '';
  const run = plain(report.run);
  const command = list(run.command).map(word => /^[\w@%+=:,./-]+$/.test(word) ? word : `'${String(word).replaceAll("'", "'\\''")}'`).join(' ');
  if (command) document.getElementById('command').append(make('code', {}, shown(command)));
  if (run.began) document.getElementById('command').append(` at ${String(run.began).replace('T', ' ').replace('Z', ' UTC')}, cuvmm ${run.cuvmm}`);
  document.getElementById('about').append(
      `${counted(calls, 'call', 'calls')} in ${counted(report.processes ?? 1, 'process', 'processes')}. Driver: `,
      shown(driver.path || 'none'), driver.emulated ? ' (the emulator)' : '', version);
}

// The NVTX ranges of the finding's thread.
function withinView(ranges) {
  return list(ranges).length ? make('p', {}, 'Within ', shown(list(ranges).join(' / '))) : null;
}

// The uses of an object's memory other than mappings.
function usesView(object, pid) {
  const process = processes.find(one => one.pid === pid);
  const uses = process ? process.usesOf(process.find(object)) : [];
  return uses.length ? make('ul', {}, uses.slice(0, 20).map(use => make('li', {}, process.useText(use))), uses.length > 20 ? make('li', {}, `and ${uses.length - 20} more`) : null) : null;
}

function objectView(object, pid) {
  object = plain(object);
  const parts = [`${object.what || 'object'} `, shown(object.value)];
  if (object.size) parts.push(`, ${bytes(object.size)}`);
  if (object.function) parts.push(', ', shown(object.function));
  if (object.name) parts.push(' “', shown(object.name), '”');
  const life = [];
  const of = (call, name) => `by call ${call}${typeof name === 'string' && name ? ` (${name.slice(0, 80)})` : ''}`;
  if (object.made_by_call) life.push(`made ${of(object.made_by_call, object.made_by)}`);
  if (object.retained_by_call) life.push(`retained ${of(object.retained_by_call, object.made_by)}`);
  if (object.ended_by_call) life.push(`ended ${of(object.ended_by_call, object.ended_by)}`);
  return [make('p', {}, make('strong', {}, parts), life.length ? ': ' + life.join(', ') : ''),
          usesView(object, pid), withinView(object.ranges),
          list(object.regions).length ? make('p', {}, 'In it, by NVTX: ', shown(list(object.regions).join('; ')), object.region_count > list(object.regions).length ? `; and ${object.region_count - list(object.regions).length} more` : '') : null,
          stackView(object.stack, 'Who made it is not known.'),
          object.ended_by_call ? [make('p', {}, 'It ended here:'), stackView(object.ended_stack)] : null].flat().filter(Boolean);
}

function findingView(finding) {
  const rows = [];
  const argumentsText = Object.entries(plain(finding.arguments)).map(([name, value]) => `${name}=${value}`).join(', ');
  rows.push(make('p', {}, shown(finding.message)));
  rows.push(make('pre', {}, finding.call_index ? [`call ${finding.call_index}: `, shown(`${finding.call}(${argumentsText})`)] : 'found at exit'));
  // At exit, the stack is that of the first object, which follows.
  if (finding.call_index || list(finding.objects).length === 0) rows.push(stackView(finding.stack, 'It was found when the process ended.'));
  if (list(finding.ranges).length) rows.push(withinView(finding.ranges));
  const documented = list(finding.documented);
  if (finding.result) rows.push(make('p', {}, `The driver answered ${finding.result}${finding.enforced ? ' (cuvmm answered in its place)' : ''}${documented.length ? `; documented: ${documented.join(', ')}` : ''}.`));
  for (const object of list(finding.objects)) rows.push(...objectView(object, finding.pid));
  for (const other of list(finding.related)) rows.push(make('p', {}, `Process ${other.pid} keeps the same memory alive: ${other.rule}.`));
  if (finding.fix) rows.push(make('p', {}, make('strong', {}, 'Fix: '), shown(finding.fix)));
  rows.push(make('p', {class: 'dim'}, `Process ${finding.pid}, ${counted(finding.count || 1, 'time', 'times')}${finding.handled ? `, handled ${finding.handled}` : ''}${finding.baseline ? `, ${finding.baseline} against the baseline` : ''}. To learn more, type: cuvmm explain ${finding.rule}`));
  return rows;
}

function groupsBy(items, key) {
  const groups = new Map();
  for (const item of items) {
    const name = key(item);
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(item);
  }
  return groups;
}
const times = items => items.reduce((sum, finding) => sum + (finding.count || 1), 0);
const findingSite = finding => siteText(list(finding.stack).length ? finding.stack : plain(list(finding.objects)[0]).stack);

function ruleView(rule, items) {
  const title = [make('span', {class: 'kind ' + (kOrder.includes(items[0].kind) ? items[0].kind : '')}, items[0].kind), ' ', rule,
                 make('span', {class: 'dim'}, ` · ${counted(times(items), 'time', 'times')}`)];
  return opening(title, () => {
    const sites = [...groupsBy(items, findingSite)];
    return sites.map(([site, group]) => opening([shown(site), make('span', {class: 'dim'}, ` · ${times(group)}`)],
        () => group.length === 1 ? findingView(group[0])
            : group.slice(0, 200).map(finding => opening([shown(finding.message)], () => findingView(finding)))
                  .concat(group.length > 200 ? [make('p', {class: 'dim'}, `and ${group.length - 200} more like these`)] : []),
        sites.length === 1 && group.length === 1));
  });
}

function findingsSection() {
  const body = make('div', {});
  const said = make('p', {class: 'said', role: 'status'});
  const filter = make('input', {type: 'search', id: 'filter', placeholder: 'rule, function, file or text', input: () => draw()});
  const kinds = kOrder.filter(kind => findings.some(finding => finding.kind === kind));
  const boxes = kinds.map(kind => make('input', {type: 'checkbox', value: kind, checked: '', change: () => draw()}));
  const texts = findings.map(finding => `${finding.rule} ${finding.message} ${list(finding.stack).map(frameText).join(' ')}`.toLowerCase());
  function draw() {
    const wanted = filter.value.trim().toLowerCase();
    const open = new Set(boxes.filter(box => box.checked).map(box => box.value));
    const left = findings.filter((finding, i) => open.has(finding.kind) && (!wanted || texts[i].includes(wanted)));
    const groups = [...groupsBy(left, finding => finding.rule)].sort((a, b) =>
        kOrder.indexOf(a[1][0].kind) - kOrder.indexOf(b[1][0].kind) || times(b[1]) - times(a[1]));
    body.replaceChildren(...groups.map(([rule, items]) => ruleView(rule, items)));
    if (groups.length && groups.length <= 3) body.firstChild.open = true;
    said.textContent = left.length === findings.length ? counted(left.length, 'finding', 'findings') : `${left.length} of ${counted(findings.length, 'finding', 'findings')}`;
  }
  draw();
  section('findings', 'Findings', findings.length
      ? [make('div', {class: 'tools'}, make('label', {for: 'filter'}, 'Show only'), filter,
              kinds.map((kind, i) => make('label', {}, boxes[i], kind))), said, body]
      : make('p', {}, 'There are none.'));
}

function leaksSection() {
  const leaks = findings.filter(finding => finding.kind === 'leak');
  const alive = plain(report.alive);
  const others = list(report.in_use).map(plain).map(kind => `, ${counted(kind.count || 0, kind.what, manyOf(kind.what))}${kind.bytes ? ` (${bytes(kind.bytes)})` : ''}`);
  const inUse = `In use when the processes ended: ${counted(alive.allocations || 0, 'allocation', 'allocations')} of cuMemCreate (${bytes(alive.bytes || 0)}), ${counted(alive.reservations || 0, 'reservation', 'reservations')}${others.join('')}.`;
  section('leaks', 'Leaks', make('p', {}, inUse), leaks.length
      ? longTable('What was given up and still pinned', ['Process', 'What', 'Size', 'Count', 'Made at'], leaks.length, i => {
          const object = plain(list(leaks[i].objects)[0]);
          return cells([leaks[i].pid ?? 0, `${object.what || leaks[i].rule} ${object.value || ''}`, object.size ? bytes(object.size) : 'not known', leaks[i].count || 1, siteText(object.stack)]);
        }) : make('p', {}, 'Nothing leaked.'));
}

function refusalsSection() {
  const refusals = list(report.refusals).map(plain);
  if (refusals.length === 0) return;
  section('refusals', 'Refused calls', make('p', {class: 'dim'}, 'Calls that the driver refused, and no mistake explains. Handled: the program then got what it wanted by another call.'),
      longTable('Refused calls', ['Process', 'Call', 'Answer', 'Times', 'Handled', 'The driver says', 'Where'], refusals.length, i => {
        const one = refusals[i];
        const facts = plain(one.facts);
        const free = facts.free !== undefined ? ` (device ${facts.device}: ${bytes(facts.free)} free of ${bytes(facts.total || 0)})` : '';
        return cells([one.pid ?? 0, one.call, one.result + free, one.count || 1, one.handled || 0, one.driver_message || '', siteText(one.stack)]);
      }));
}

function faultsSection() {
  const faults = list(report.faults).map(plain);
  if (faults.length === 0) return;
  section('faults', 'Faults of a device', faults.map(fault => opening([shown(`${fault.result}: ${fault.message || ''}`)], () => [
    make('p', {}, `Process ${fault.pid}: ${fault.call} answered it.`, fault.address ? ` The address was ${fault.address}.` : ''),
    ...list(fault.near).map(sentence => make('p', {}, shown(sentence))), stackView(fault.stack),
    list(fault.ended).length ? longTable('What had ended before', ['What', 'Value', 'Size', 'Ended by call', 'Calls before', 'Where'], list(fault.ended).length, i => {
      const one = plain(fault.ended[i]);
      return cells([one.what, one.value, one.size ? bytes(one.size) : 'not known', one.ended_by_call || 0, one.calls_before ?? '', siteText(one.stack)]);
    }) : make('p', {}, 'Nothing had ended before.')])));
}

function restSection() {
  const notes = list(report.notes), unchecked = list(report.unchecked);
  if (notes.length) section('notes', 'What is missing', make('ul', {}, notes.slice(0, 500).map(note => make('li', {}, shown(note)))), notes.length > 500 ? make('p', {}, `and ${notes.length - 500} more`) : null);
  const calls = Object.entries(plain(report.calls)).sort((a, b) => b[1] - a[1]);
  section('calls', 'Calls', opening(`${counted(calls.length, 'function', 'functions')} checked`, () => longTable('Calls by function', ['Function', 'Calls'], calls.length, i => cells([calls[i][0], calls[i][1]]))),
      unchecked.length ? opening(`${counted(unchecked.length, 'thing', 'things')} not checked`, () => make('ul', {}, unchecked.map(text => make('li', {}, shown(text))))) : null);
}
