"use strict";
// Draws the rounds of a search; the table beside it says the same.
function drawRounds() {
  document.querySelectorAll(".plot[data-rounds]").forEach((place) => {
    if (place.firstChild || typeof uPlot === "undefined") return;
    const style = getComputedStyle(document.documentElement);
    const ink = style.getPropertyValue("--dim"), line = style.getPropertyValue("--line"), accent = style.getPropertyValue("--accent");
    const axis = { stroke: ink, grid: { stroke: line }, ticks: { stroke: line } };
    const size = () => ({ width: place.clientWidth, height: 260 });
    const plot = new uPlot({
      ...size(), scales: { x: { time: false } }, axes: [{ ...axis, incrs: [1, 2, 5, 10, 20, 50] }, { ...axis, size: 60 }],
      series: [
        { label: place.dataset.round },
        { label: place.dataset.score, stroke: ink, paths: () => null, points: { show: true, size: 7, fill: ink } },
        { label: place.dataset.best, stroke: accent, width: 2, points: { show: false } },
      ],
    }, JSON.parse(place.dataset.rounds), place);
    new ResizeObserver(() => plot.setSize(size())).observe(place);
  });
}
document.addEventListener("DOMContentLoaded", drawRounds);
document.addEventListener("htmx:afterSwap", drawRounds);
