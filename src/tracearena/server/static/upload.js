// Sends the form of a file with a bar that shows how much has gone. Without this script the browser sends the
// same form itself. The key in the form is the same however often the button is pressed: it is handed in once.
"use strict";
for (const form of document.querySelectorAll("form.sending")) {
  const input = form.querySelector("input[type=file]"), drop = form.querySelector(".drop");
  const bar = form.querySelector("progress"), said = form.querySelector(".said"), button = form.querySelector("button");

  const say = (words, refused) => {
    said.textContent = words;
    said.classList.toggle("refused", Boolean(refused));
  };
  const problem = () => {
    const file = input.files[0];
    if (!file) return "";
    if (file.size === 0) return form.dataset.empty;
    return file.size > Number(form.dataset.mostBytes) ? form.dataset.tooLarge : "";
  };
  const reset = words => {
    bar.hidden = true;
    button.disabled = false;
    say(words, true);
  };

  // What is refused comes as a page: its sentence is shown here, and the file stays chosen.
  const sentence = (text, status) => {
    const page = new DOMParser().parseFromString(text, "text/html");
    const found = page.querySelector("main .lead");
    return found ? found.textContent : String(status);
  };

  const done = request => {
    const isPage = request.responseURL && new URL(request.responseURL).pathname !== location.pathname;
    if (request.status < 400 && isPage) {
      location.assign(request.responseURL);
      return;
    }
    const page = new DOMParser().parseFromString(request.responseText, "text/html");
    const outcome = page.getElementById("outcome");
    if (!outcome) {
      reset(sentence(request.responseText, request.status));
      return;
    }
    form.replaceWith(outcome);
    outcome.tabIndex = -1;
    outcome.focus();
  };

  const send = event => {
    event.preventDefault();
    if (button.disabled) return;
    const wrong = problem();
    if (wrong) {
      say(wrong, true);
      return;
    }
    const request = new XMLHttpRequest();
    request.upload.addEventListener("progress", sent => {
      if (!sent.lengthComputable) return;
      bar.value = sent.loaded / sent.total;
      say(`${form.dataset.sending}: ${Math.round(100 * bar.value)} %`);
    });
    request.upload.addEventListener("load", () => say(form.dataset.sent));
    request.addEventListener("load", () => done(request));
    request.addEventListener("error", () => reset(form.dataset.broken));
    request.open("POST", location.pathname);
    bar.value = 0;
    bar.hidden = false;
    button.disabled = true;
    request.send(new FormData(form));
  };

  form.addEventListener("submit", send);
  input.addEventListener("change", () => say(problem(), true));
  for (const kind of ["dragenter", "dragover"]) {
    drop.addEventListener(kind, event => { event.preventDefault(); drop.classList.add("over"); });
  }
  for (const kind of ["dragleave", "drop"]) drop.addEventListener(kind, () => drop.classList.remove("over"));
  drop.addEventListener("drop", event => {
    event.preventDefault();
    if (!event.dataTransfer.files.length) return;
    input.files = event.dataTransfer.files;
    say(problem(), true);
  });
}
