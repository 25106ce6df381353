// A button beside what is to be copied. Where the browser does not let a page copy, there is none: what it stands
// beside can be selected.
"use strict";
if (navigator.clipboard) {
  for (const box of document.querySelectorAll("[data-copy]")) {
    const words = [box.dataset.copy, box.dataset.copied];
    const button = Object.assign(document.createElement("button"), { type: "button", className: "second copy", textContent: words[0] });
    const said = Object.assign(document.createElement("span"), { className: "unseen" });
    said.setAttribute("role", "status");
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(box.querySelector("code").textContent.trim());
      button.textContent = said.textContent = words[1];
      setTimeout(() => { button.textContent = words[0]; said.textContent = ""; }, 2000);
    });
    box.append(button, said);
  }
}
