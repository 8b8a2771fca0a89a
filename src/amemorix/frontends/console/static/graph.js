"use strict";
// Draws the graph of which the tables of the page tell; a click on a node shows it below and draws its neighbours too.
addEventListener("DOMContentLoaded", async () => {
  const box = document.getElementById("drawing");
  const chat = encodeURIComponent(box.dataset.chat);
  const ink = getComputedStyle(document.documentElement);
  const colour = (name) => ink.getPropertyValue(`--${name}`).trim();
  // Cytoscape would write a style of its own into the page, which the policy forbids; console.css has it.
  document.head.append(Object.assign(document.createElement("meta"), { id: "__________cytoscape_stylesheet" }));
  const cy = cytoscape({
    container: box, pixelRatio: "auto", hideEdgesOnViewport: true, textureOnViewport: true, minZoom: 0.02, maxZoom: 4,
    style: [
      { selector: "node", style: { label: "data(name)", width: "data(size)", height: "data(size)", "background-color": colour("accent"), color: colour("ink"), "font-size": 13, "text-wrap": "ellipsis", "text-max-width": 160, "min-zoomed-font-size": 8, "text-background-color": colour("card"), "text-background-opacity": 0.7 } },
      { selector: "edge", style: { width: 2, "line-color": colour("dim"), opacity: 0.6, "curve-style": "haystack" } },
      { selector: "edge.near", style: { width: 3, opacity: 1, "line-color": colour("warn"), label: "data(label)", color: colour("ink"), "font-size": 11, "text-rotation": "autorotate", "text-wrap": "ellipsis", "text-max-width": 120, "min-zoomed-font-size": 8, "text-background-color": colour("card"), "text-background-opacity": 0.9 } },
      { selector: "node.near", style: { "border-width": 3, "border-color": colour("warn") } },
    ],
  });

  function fit() {
    cy.fit(undefined, 30);
    if (cy.zoom() > 1.5) { cy.zoom(1.5); cy.center(); }  // a few nodes need not fill the place
    // the names of a few are read at any zoom
    cy.nodes().style("font-size", cy.nodes().length > 60 ? 13 : Math.max(13, 11 / cy.zoom()));
  }

  async function draw(address, around) {
    const answer = await fetch(address);
    if (!answer.ok) return;
    const { nodes, edges } = await answer.json();
    const joined = (one) => `${one.source} ${one.target} ${one.label}`;
    const fresh = nodes.filter((one) => cy.getElementById(one.id).empty());
    const centre = around ? around.position() : { x: 0, y: 0 };
    cy.batch(() => {
      cy.add(fresh.map((one, i) => {
        const far = around ? 90 : 34 * Math.sqrt(i);  // the most important stand in the middle
        const position = { x: centre.x + far * Math.cos(i * 2.4), y: centre.y + far * Math.sin(i * 2.4) };
        return { data: { ...one, size: 14 + 4 * Math.sqrt(one.degree || 1) }, position };
      }));
      cy.add(edges.filter((one) => cy.getElementById(joined(one)).empty() && cy.getElementById(one.source).nonempty() && cy.getElementById(one.target).nonempty())
        .map((one) => ({ data: { id: joined(one), ...one } })));
    });
    if (!fresh.length) return;
    arrange(around ? 60 : 150, around);
    if (!around) fit();
    document.getElementById("drawn-count").textContent = `${cy.nodes().length} · ${cy.edges().length}`;
    box.dataset.nodes = cy.nodes().length;
  }

  // Forces after Fruchterman and Reingold (1991): joined nodes attract, near ones repel, in cells so that thousands do.
  function arrange(rounds, held) {
    const nodes = cy.nodes().toArray(), place = new Map(nodes.map((one, i) => [one.id(), i]));
    const x = Float64Array.from(nodes, (one) => one.position("x")), y = Float64Array.from(nodes, (one) => one.position("y"));
    const joins = cy.edges().map((one) => [place.get(one.data("source")), place.get(one.data("target"))]);
    const near = 75, cell = 2 * near, still = held ? place.get(held.id()) : -1;
    for (let round = 0; round < rounds; round++) {
      const dx = new Float64Array(nodes.length), dy = new Float64Array(nodes.length), cells = new Map();
      const push = (i, j, force, ax, ay) => { dx[i] += ax * force; dy[i] += ay * force; dx[j] -= ax * force; dy[j] -= ay * force; };
      const column = (i) => Math.floor(x[i] / cell) + 30_000, row = (i) => Math.floor(y[i] / cell) + 30_000;
      const key = (right, down) => right * 60_000 + down;  // a number: a text for each would take most of the time
      for (let i = 0; i < nodes.length; i++) { const one = key(column(i), row(i)); cells.has(one) ? cells.get(one).push(i) : cells.set(one, [i]); }
      for (let i = 0; i < nodes.length; i++) {
        const here = column(i), at = row(i);
        for (let right = -1; right <= 1; right++) for (let down = -1; down <= 1; down++) for (const j of cells.get(key(here + right, at + down)) || []) {
          if (j <= i) continue;
          const ax = x[i] - x[j], ay = y[i] - y[j], far = ax * ax + ay * ay || 1;
          if (far < cell * cell) push(i, j, near * near / far, ax || Math.cos(i), ay || Math.sin(i));
        }
        dx[i] -= x[i] * 0.02; dy[i] -= y[i] * 0.02;
      }
      for (const [i, j] of joins) { const ax = x[j] - x[i], ay = y[j] - y[i]; push(i, j, Math.hypot(ax, ay) / near * 0.5, ax, ay); }
      const most = 60 * (1 - round / rounds) + 1;
      nodes.forEach((_, i) => {
        const far = Math.hypot(dx[i], dy[i]) || 1, step = Math.min(far, most) / far;
        if (i !== still) { x[i] += dx[i] * step; y[i] += dy[i] * step; }
      });
    }
    cy.batch(() => nodes.forEach((one, i) => one.position({ x: x[i], y: y[i] })));
  }

  cy.on("tap", "node", async ({ target }) => {
    cy.elements().removeClass("near");
    htmx.ajax("GET", `/ui/graph/nodes/${target.id()}?chat=${chat}`, "#node");
    await draw(`/ui/graph/data?node=${target.id()}&chat=${chat}`, target);
    target.addClass("near").connectedEdges().addClass("near");
  });
  for (const one of document.querySelectorAll("[data-zoom]")) one.addEventListener("click", () => {
    const by = Number(one.dataset.zoom);
    by ? cy.zoom({ level: cy.zoom() * by, renderedPosition: { x: box.clientWidth / 2, y: box.clientHeight / 2 } }) : fit();
  });
  cy.on("resize", () => setTimeout(fit, 100));
  await draw(box.dataset.from);
});
