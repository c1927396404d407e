"use strict";
// Everything reads without this script; it adds sorting and filtering of the table, opening all features at once, and a slider.
(() => {
  const table = document.querySelector("table.features");
  if (table) {
    const body = table.tBodies[0], rows = [...body.rows];
    const key = (row, column) => {
      const cell = row.cells[column];
      return cell.dataset.v === undefined ? cell.textContent.trim().toLowerCase() : Number(cell.dataset.v);
    };
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const numeric = rows.length > 0 && typeof key(rows[0], column) === "number" && column > 0;
        const before = head.getAttribute("aria-sort");
        const down = before ? before === "ascending" : numeric;
        for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
        const sorted = rows.map((row) => [key(row, column), row]).sort((a, b) => (down ? -1 : 1) * compare(a[0], b[0]));
        body.append(...sorted.map((pair) => pair[1]));
      });
    });
    const tools = document.getElementById("feature-tools"), field = tools.querySelector("input"), shown = tools.querySelector("output");
    tools.hidden = false;
    field.addEventListener("input", () => {
      const wanted = field.value.trim().toLowerCase();
      let n = 0;
      for (const row of rows) {
        row.hidden = !row.cells[1].textContent.toLowerCase().includes(wanted);
        n += row.hidden ? 0 : 1;
      }
      shown.value = wanted ? `${n} of ${rows.length}` : "";
    });
  }
  const features = [...document.querySelectorAll("details.feature")];
  const levelTools = document.getElementById("level-tools");
  if (levelTools) {
    levelTools.hidden = false;
    levelTools.addEventListener("click", (event) => {
      const wish = event.target.dataset.open;
      if (wish !== undefined) for (const feature of features) feature.open = wish === "yes";
    });
  }
  const decisions = document.getElementById("decision-tools");
  if (decisions) {
    const slider = decisions.querySelector("input"), shown = decisions.querySelector("output");
    const steps = [...document.querySelectorAll("#decision-steps tbody tr")];
    const marks = document.querySelectorAll("#decision-figure line.reference, #decision-figure line.dot");
    const show = () => {
      const step = steps[slider.valueAsNumber];
      for (const other of steps) other.classList.toggle("chosen", other === step);
      for (const mark of marks) {
        for (const end of ["x1", "x2"]) mark.setAttribute(end, step.dataset.x);
        if (mark.classList.contains("dot")) for (const end of ["y1", "y2"]) mark.setAttribute(end, step.dataset.y);
      }
      shown.value = step.dataset.text;
    };
    decisions.hidden = false;
    slider.addEventListener("input", show);
    show();
  }
  const openTarget = () => {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (target && target.tagName === "DETAILS") target.open = true;
  };
  addEventListener("hashchange", openTarget);
  addEventListener("beforeprint", () => { for (const feature of features) feature.open = true; });
  openTarget();
})();
