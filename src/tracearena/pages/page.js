(() => {
  const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const axis = () => ({
    gridcolor: colour("--line"), linecolor: colour("--line"), zerolinecolor: colour("--line"), automargin: true,
  });
  const template = () => ({ layout: {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: colour("--ink"), family: "system-ui, sans-serif", size: 13 },
    colorway: COLOURS, margin: { l: 10, r: 10, t: 10, b: 10 },
    xaxis: axis(), yaxis: axis(), legend: { orientation: "h", y: 1.02, yanchor: "bottom" },
    hoverlabel: { bgcolor: colour("--panel"), font: { color: colour("--ink") } },
  } });
  const inked = text => text.replaceAll('"var(--ink)"', JSON.stringify(colour("--ink")))
    .replaceAll('"var(--paper)"', JSON.stringify(colour("--paper")))
    .replaceAll('"var(--soft)"', JSON.stringify(colour("--soft")));
  const NARROW_PX = 480, LETTER_PX = 7.5, STEP_PX = 14;
  // Plotly cuts off a title that is longer than its axis.
  const wrapped = (text, most) => text.split(" ").reduce((lines, word) => {
    const last = lines[lines.length - 1];
    return last && (last + " " + word).length > most ? [...lines, word] : [...lines.slice(0, -1), last ? last + " " + word : word];
  }, []).join("<br>");
  const fit = (layout, width) => Object.entries(layout).forEach(([name, axis]) => {
    if (/^xaxis\d*$/.test(name) && axis.title && axis.title.text) {
      axis.title.text = wrapped(axis.title.text, Math.max(16, (width - 130) / LETTER_PX));
    }
  });
  const apart = (one, other) => one.right < other.left || one.left > other.right || one.bottom < other.top || one.top > other.bottom;
  // Names of points that would lie on each other, or beyond the edge, are moved to the next free place.
  const untangle = place => {
    const labels = place.querySelectorAll(".textpoint text"), area = place.querySelector(".nsewdrag");
    if (!labels.length || !area) return;
    const inside = area.getBoundingClientRect();
    const taken = [...place.querySelectorAll(".points path")].map(mark => mark.getBoundingClientRect());
    labels.forEach(label => {
      label.style.transform = "";
      const at = label.getBoundingClientRect();
      const dx = Math.max(inside.left - at.left, 0) + Math.min(inside.right - at.right, 0);
      const moved = dy => ({ left: at.left + dx, right: at.right + dx, top: at.top + dy, bottom: at.bottom + dy });
      const tries = [0, ...Array.from({ length: 10 }, (_, i) => [-(i + 1) * STEP_PX, (i + 1) * STEP_PX]).flat()];
      const dy = tries.find(dy => moved(dy).top > inside.top && moved(dy).bottom < inside.bottom
        && taken.every(other => apart(moved(dy), other)));
      label.style.transform = `translate(${dx}px, ${dy ?? 0}px)`;
      taken.push(moved(dy ?? 0));
    });
  };
  const drawn = new Map();
  const draw = place => {
    const figure = JSON.parse(inked(document.getElementById(place.id + "-figure").textContent));
    const width = place.clientWidth;
    drawn.set(place, width);
    figure.layout.template = template();
    if (width < NARROW_PX) fit(figure.layout, width);
    Plotly.react(place, figure.data, figure.layout, { responsive: true, displaylogo: false, displayModeBar: false })
      .then(() => figure.frames && Plotly.deleteFrames(place).then(() => Plotly.addFrames(place, figure.frames)))
      .then(() => {
        untangle(place);
        place.removeAllListeners("plotly_afterplot");
        place.on("plotly_afterplot", () => untangle(place));
      });
  };
  const plots = [...document.querySelectorAll(".plot")];
  plots.forEach(draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => plots.forEach(draw));
  // A page may get its width only after it was drawn: on a phone that turns, in a frame, in a screenshot.
  const watch = new ResizeObserver(changes => changes.forEach(({ target }) => {
    if (target.clientWidth !== drawn.get(target)) draw(target);
  }));
  plots.forEach(place => watch.observe(place));
})();
