"use strict";
// The token stays in this tab: other ports of this host, which may be somebody else's, never see it.
const key = "hugewise-token";
const open = (token) => location.replace("/?token=" + encodeURIComponent(token));
const asked = new URLSearchParams(location.search).has("token");
const known = sessionStorage.getItem(key);
if (asked) {
  sessionStorage.removeItem(key);
  document.getElementById("why").textContent = "That token is wrong. Each start makes a new one, " +
    "unless there is a --token-file.";
  history.replaceState(null, "", "/");
} else if (known) {
  open(known);
}
document.getElementById("form").addEventListener("submit", (event) => {
  event.preventDefault();
  const token = document.getElementById("token").value.trim();
  if (token) open(token);
});
