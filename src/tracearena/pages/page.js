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
  const draw = () => document.querySelectorAll(".plot").forEach(place => {
    const figure = JSON.parse(inked(document.getElementById(place.id + "-figure").textContent));
    figure.layout.template = template();
    Plotly.react(place, figure.data, figure.layout, { responsive: true, displaylogo: false, displayModeBar: false })
      .then(() => figure.frames && Plotly.deleteFrames(place).then(() => Plotly.addFrames(place, figure.frames)));
  });
  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
})();
