// The ceremony: a key opens a row, a step or a single cell more. All of it stands in the page, so no network is
// needed.
"use strict";
(() => {
  const scenes = [...document.querySelectorAll("[data-scene]")];
  const told = document.querySelector("[data-told]");
  const many = (root, selector) => [...root.querySelectorAll(selector)];
  const by = name => (one, other) => Number(one.dataset[name]) - Number(other.dataset[name]);

  // A step opens some elements; `end` marks where a larger stride stops.
  const stepsOf = (scene, number) => {
    const steps = [{ scene: number, open: [], end: true }];
    const cells = many(scene, ".cell").sort(by("order"));
    cells.forEach((cell, at) => {
      const next = cells[at + 1];
      steps.push({ scene: number, open: [cell], end: !next || next.dataset.row !== cell.dataset.row });
    });
    const sums = many(scene, ".sum");
    if (sums.length) steps.push({ scene: number, open: sums, end: true });
    many(scene, ".step").sort(by("place")).reverse()
      .forEach(step => steps.push({ scene: number, open: [step], end: true }));
    const last = many(scene, "[data-last]");
    if (last.length) steps.push({ scene: number, open: last, end: true });
    return steps;
  };
  const steps = scenes.flatMap(stepsOf);
  let at = 0;

  const show = (element, open) => {
    if ("last" in element.dataset) { element.hidden = !open; return; }
    element.classList.toggle("closed", !open);
    element.classList.toggle("opened", open);
  };

  // The minimum beside a target falls with every attack that is opened on it.
  const settleMinima = scene => {
    for (const words of many(scene, ".least")) {
      const opened = many(scene, `.cell.opened[data-row="${words.dataset.row}"]`);
      const scores = opened.map(cell => Number(cell.dataset.score ?? 1));
      words.classList.toggle("closed", opened.length === 0);
      if (opened.length) words.textContent = Math.min(1, ...scores).toFixed(3);
    }
  };

  const go = to => {
    at = Math.max(0, Math.min(steps.length - 1, to));
    steps.forEach((step, number) => step.open.forEach(one => show(one, number <= at)));
    scenes.forEach((scene, number) => { scene.hidden = number !== steps[at].scene; });
    settleMinima(scenes[steps[at].scene]);
    const words = steps[at].open.map(one => one.querySelector("title")?.textContent).filter(Boolean);
    told.textContent = `${at + 1} / ${steps.length} ${words.join(" ")}`;
  };

  const stride = () => {
    let to = at + 1;
    while (to < steps.length - 1 && !steps[to].end) to += 1;
    go(to);
  };
  const keys = {
    ArrowRight: stride, PageDown: stride, " ": stride, ArrowDown: () => go(at + 1),
    ArrowLeft: () => go(at - 1), PageUp: () => go(at - 1),
    Home: () => go(0), End: () => go(steps.length - 1),
    f: () => document.fullscreenElement ? document.exitFullscreen() : document.documentElement.requestFullscreen(),
  };
  addEventListener("keydown", event => {
    const act = keys[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  });
  document.querySelector("main").addEventListener("click", stride);
  go(0);
})();
