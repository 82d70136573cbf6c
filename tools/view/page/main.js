// SPDX-License-Identifier: Apache-2.0
'use strict';
const began = performance.now();
verdict();
findingsSection();
faultsSection();
spaceSection();
leaksSection();
trafficSection();
refusalsSection();
restSection();
document.getElementById('nav').append(...sections.map(([id, title]) => make('a', {href: '#' + id}, title)));
document.body.dataset.ready = Math.round(performance.now() - began);
