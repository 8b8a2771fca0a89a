"use strict";
// An answer that is an error is shown where its page would have been; htmx shows good ones alone.
document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.xhr.status >= 400 && event.detail.xhr.status !== 401) event.detail.shouldSwap = true;
});
document.addEventListener("keydown", (event) => {
  const inField = event.target.closest("input, textarea, select");
  if (event.key === "/" && !inField && !event.ctrlKey && !event.metaKey) {
    const field = document.querySelector("input[type=search]");
    if (field) { event.preventDefault(); field.focus(); }
  }
});
// The menu of a telephone is wider than it: show where one is.
document.addEventListener("DOMContentLoaded", () => {
  const here = document.querySelector("nav [aria-current]");
  if (here) here.parentElement.scrollLeft = here.offsetLeft - (here.parentElement.clientWidth - here.offsetWidth) / 2;
});
