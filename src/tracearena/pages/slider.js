// A slider moves its picture through the day: what happened since an instant stays, what is at an instant goes.
document.querySelectorAll('input[type="range"]').forEach(slider => {
  const figure = slider.closest("figure");
  const show = (part, shown) => part.setAttribute("visibility", shown ? "visible" : "hidden");
  slider.addEventListener("input", () => {
    const now = Number(slider.value);
    figure.querySelectorAll("[data-since]").forEach(part => show(part, Number(part.dataset.since) <= now));
    figure.querySelectorAll("[data-at]").forEach(part => {
      show(part, Number(part.dataset.at) === now);
      if (Number(part.dataset.at) === now) slider.nextElementSibling.value = part.dataset.time;
    });
  });
});
