// The secret of a link stands behind the #, which browsers send to nobody: it goes into the form, and
// out of the address bar and the history.
"use strict";
if (location.hash.length > 1) {
  document.getElementById("secret").value = location.hash.slice(1);
  history.replaceState(null, "", location.pathname);
}
