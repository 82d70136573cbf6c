// SPDX-License-Identifier: Apache-2.0
// Fills the list of versions. ../versions.js says which lie beside this one; without it, there is only this one.
window.addEventListener("load", () => {
  const list = document.getElementById("cuvmm-versions");
  const { version, top } = list.dataset;
  const names = window.cuvmmVersions || [];
  if (names.includes(version)) list.replaceChildren(...names.map((name) => new Option(name, name, false, name === version)));
  list.addEventListener("change", () => { location.href = `${top}../${list.value}/index.html`; });
});
