// Times are written in UTC by the server and rewritten here in the reader's own zone, all of them: a page never
// shows two zones. What is left of a phase ticks by the server's clock, whatever the reader's clock says.
"use strict";
(() => {
  // The page's language, in the way of the reader's country where that is known.
  const page = document.documentElement.lang;
  const language = navigator.language.startsWith(page) ? navigator.language : page;
  const written = options => new Intl.DateTimeFormat(language, options);
  const whole = written({
    year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit",
    hourCycle: "h23", timeZoneName: "short",
  });
  const two = number => String(number).padStart(2, "0");
  const parts = {
    day: written({ day: "numeric", month: "short" }),
    hour: written({ hour: "2-digit", minute: "2-digit", hourCycle: "h23" }),
    "day-hour": written({ day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23" }),
  };

  // Sentences, tables and options have moments in two forms of ISO 8601; commands to copy stay as they are.
  const MOMENT = /\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?( UTC|Z|\+00:00)/g;
  const inOwnZone = words => words.replace(MOMENT, found => {
    const at = new Date(found.replace(" UTC", "Z").replace(" ", "T"));
    return Number.isNaN(at.getTime()) ? found : whole.format(at);
  });
  const rewriteText = text => {
    const words = text.parentElement?.closest("pre, code, script") ? text.data : inOwnZone(text.data);
    if (words !== text.data) text.data = words;
  };
  const rewrite = root => {
    if (root.nodeType === Node.TEXT_NODE) rewriteText(root);
    if (root.nodeType !== Node.ELEMENT_NODE) return;
    for (const time of root.querySelectorAll("time[datetime]")) {
      const at = new Date(time.dateTime);
      if (Number.isNaN(at.getTime())) continue;
      time.title = time.textContent;
      time.textContent = whole.format(at);
    }
    const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) rewriteText(texts.currentNode);
  };
  rewrite(document.body);
  // What other scripts fetch and show later, such as why a file is refused, has moments as well.
  new MutationObserver(changes => {
    for (const change of changes) change.addedNodes.forEach(rewrite);
  }).observe(document.body, { childList: true, subtree: true });
  const zone = whole.formatToParts(new Date()).find(part => part.type === "timeZoneName").value;
  for (const one of document.querySelectorAll("[data-zone]")) one.textContent = zone;

  // A field for a moment is filled in the reader's zone, and sent in UTC.
  for (const field of document.querySelectorAll("input[data-local]")) {
    const local = at => `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}T${two(at.getHours())}:${two(at.getMinutes())}`;
    if (field.value) field.value = local(new Date(`${field.value}Z`));
    field.form.addEventListener("formdata", event => {
      const at = new Date(field.value);
      if (!Number.isNaN(at.getTime())) event.formData.set(field.name, at.toISOString());
    });
  }
  for (const text of document.querySelectorAll("text[data-time][data-part]")) {
    text.textContent = parts[text.dataset.part].format(new Date(text.dataset.time));
  }

  const clock = document.querySelector("[data-now]");
  if (!clock) return;
  const ahead = new Date(clock.dataset.now).getTime() - Date.now();
  const skew = document.querySelector("[data-skew]");
  const driven = "driven" in clock.dataset;
  if (skew && !driven) {
    const seconds = Math.round(Math.abs(ahead) / 1000);
    skew.textContent = seconds < 2 ? skew.dataset.same : skew.dataset.skew.replace("%s", seconds);
  }

  const inDays = new Intl.NumberFormat(language, { style: "unit", unit: "day", unitDisplay: "long" });
  const left = until => {
    const seconds = Math.max(0, Math.floor((new Date(until).getTime() - Date.now() - ahead) / 1000));
    const days = Math.floor(seconds / 86400);
    const hours = `${two(Math.floor(seconds / 3600) % 24)}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
    return days ? `${inDays.format(days)} ${hours}` : hours;
  };
  // A clock that is set by hand stands still, and so does what is left.
  if (driven) return;
  const counters = document.querySelectorAll("[data-until]");
  const tick = () => counters.forEach(one => { one.textContent = left(one.dataset.until); });
  if (counters.length) {
    tick();
    setInterval(tick, 1000);
  }
})();
