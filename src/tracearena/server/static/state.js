// While the judge is at work, a receipt asks how far it is, and shows what has changed. The page is asked for
// again, so that what is shown is made in one place, the server.
"use strict";
{
  const FIRST_MS = 1000, LONGEST_MS = 10000;

  async function look(wait) {
    const section = document.getElementById("state");
    if (!section || !("watch" in section.dataset)) return;
    try {
      const answer = await fetch(location.pathname + "/state", { headers: { Accept: "application/json" } });
      if (answer.redirected || answer.status === 404) return;
      const said = await answer.json();
      if (said.state !== section.dataset.state) {
        const page = await (await fetch(location.pathname)).text();
        const fresh = new DOMParser().parseFromString(page, "text/html").getElementById("state");
        if (fresh) {
          // The section itself stays: a screen reader watches it, and reads what comes into it.
          section.replaceChildren(...fresh.childNodes);
          section.dataset.state = fresh.dataset.state;
          if (!("watch" in fresh.dataset)) delete section.dataset.watch;
        }
      }
    } catch {
      // The line broke or the server restarts: the next look may be luckier.
    }
    setTimeout(look, wait, Math.min(wait * 1.3, LONGEST_MS));
  }
  setTimeout(look, FIRST_MS, FIRST_MS);
}
