"use strict";
// What every page needs: its data unpacked, charts drawn when they come into sight, tables that sort, copy and filter.
const page = (() => {
  const unpack = async (id) => {
    const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  };
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const quiet = Object.fromEntries(["level", "error", "warn", "info", "debug"].map((name) => [name, () => quiet]));
  const drawn = new Map();
  let data = null, printing = false;

  const rowsOf = (frame) => {
    const names = Object.keys(frame);
    return names.length ? frame[names[0]].map((_, i) => Object.fromEntries(names.map((name) => [name, frame[name][i]]))) : [];
  };
  const fitted = (spec, room) => {
    const one = (part, less) => (typeof part.width === "number" ? { ...part, width: Math.max(160, Math.min(part.width, room - less)) } : part);
    if (spec.vconcat) return { ...spec, vconcat: spec.vconcat.map((part) => one(part, 90)) };
    return { ...one(spec, 4), autosize: typeof spec.width === "number" ? { type: "fit-x", contains: "padding" } : undefined };
  };
  // Draws {spec, frames, main} in an element and returns the view.
  const draw = (host, chart) => {
    drawn.get(host)?.view.finalize();
    host.replaceChildren();
    const { compile, parse, View, expressionInterpreter, Handler } = vegaCharts;
    const datasets = Object.fromEntries(Object.entries(chart.frames).map(([name, frame]) => [name, rowsOf(frame)]));
    const config = data.themes[dark.matches && !printing ? 1 : 0], [against, pro] = config.range.category;
    const spec = { ...fitted(chart.spec, host.clientWidth || 620), data: { name: chart.main }, datasets, config };
    const view = new View(parse(compile(spec, { logger: quiet }).spec, null, { ast: true }), {
      expr: expressionInterpreter, renderer: "svg", container: host, hover: true, tooltip: new Handler({ disableDefaultStyle: true }).call,
    });
    const signals = { against, pro, ...chart.signals };
    for (const { name } of spec.params ?? []) if (name in signals) view.signal(name, signals[name]);
    view.run();
    drawn.set(host, { chart, view, width: host.clientWidth });
    return view;
  };
  const sight = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) { sight.unobserve(entry.target); show(entry.target); }
  }, { rootMargin: "300px" });
  const show = (host) => { if (!drawn.has(host)) draw(host, host.chart ?? data.charts[host.dataset.chart]); };
  // Puts a chart into an element, to be drawn when it comes into sight, or at once if another stood there.
  const place = (host, chart) => {
    host.chart = chart;
    if (drawn.has(host)) draw(host, chart);
    else sight.observe(host);
  };
  // Sets a value that a chart reads, now or when it is drawn.
  const signal = (host, name, value) => {
    const chart = host.chart;
    if (chart) chart.signals = { ...chart.signals, [name]: value };
    drawn.get(host)?.view.signal(name, value).run();
  };
  const redraw = () => { for (const [host, one] of drawn) if (host.isConnected) draw(host, one.chart); };

  const text = (cell) => (cell.dataset.v ?? cell.textContent).trim();
  // An apostrophe keeps a spreadsheet from running a text as a formula; numbers, also with separators or %, stay as they are.
  const guarded = (t) => (/^[=+\-@\t\r\n＝＋－＠]./s.test(t) && !/^[+-]?(\d[\d,]*)?(\.\d+)?(e[+-]?\d+)?\s?%?$/i.test(t) ? `'${t}` : t);
  const field = (cell, separator) => {
    const t = guarded(text(cell));
    return t.includes(separator) || /["\r\n]/.test(t) ? `"${t.replaceAll('"', '""')}"` : t;
  };
  const csv = (table, separator) => [...table.rows].filter((row) => !row.hidden)
    .map((row) => [...row.cells].map((cell) => field(cell, separator)).join(separator)).join("\n") + "\n";
  const button = (label, action) => {
    const one = Object.assign(document.createElement("button"), { type: "button", textContent: label });
    one.addEventListener("click", action);
    return one;
  };
  const sortable = (table) => {
    if (!table.tHead || table.tHead.querySelector("button")) return;
    const body = table.tBodies[0], rows = [...body.rows];
    const key = (row, column) => {
      const t = text(row.cells[column]), n = Number(t.replaceAll(",", "").replace("−", "-").replace("%", ""));
      return t === "–" || t === "" ? null : Number.isNaN(n) ? t.toLowerCase() : n;
    };
    const compare = (a, b) => (a === null || b === null ? (a === null) - (b === null) : typeof a === typeof b ? (a < b ? -1 : a > b ? 1 : 0) : typeof a === "number" ? -1 : 1);
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const label = [...head.childNodes], one = button("", () => {
        const before = head.getAttribute("aria-sort");
        const down = before ? before === "ascending" : rows.some((row) => typeof key(row, column) === "number");
        for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const lost = (k) => k === null;
        const sorted = rows.map((row) => [key(row, column), row]).sort(([a], [b]) => (lost(a) || lost(b) ? compare(a, b) : (down ? -1 : 1) * compare(a, b)));
        body.append(...sorted.map(([, row]) => row));
      });
      one.append(...label);
      head.append(one);
    });
    const tools = Object.assign(document.createElement("p"), { className: "tools" });
    tools.append(
      button("Copy", () => navigator.clipboard?.writeText(csv(table, "\t")).catch(() => undefined)),
      button("CSV", () => {
        const link = Object.assign(document.createElement("a"), { download: "table.csv", href: URL.createObjectURL(new Blob([csv(table, ",")], { type: "text/csv" })) });
        link.click();
        URL.revokeObjectURL(link.href);
      }),
    );
    table.before(tools);
  };
  const tables = (root) => root.querySelectorAll("table.sortable").forEach(sortable);
  // Bars in tables: widths are set here, as the page forbids styles in attributes.
  const bars = (root) => root.querySelectorAll("[data-width]").forEach((bar) => bar.style.setProperty("width", `${bar.dataset.width}%`));
  const readFilters = () => document.querySelectorAll("input[data-filter]").forEach((field) => field.addEventListener("input", () => {
    const wanted = field.value.trim().toLowerCase();
    for (const row of document.getElementById(field.dataset.filter).tBodies[0].rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
  }));

  const ready = (async () => {
    const [script, packed] = await Promise.all([unpack("page-bundle"), unpack("page-data")]);
    const run = (text) => document.head.append(Object.assign(document.createElement("script"), { textContent: text }));
    data = JSON.parse(packed);
    run(script);
    if (data.program) run(data.program);
    tables(document);
    bars(document);
    readFilters();
    document.querySelectorAll("[data-chart]").forEach((host) => sight.observe(host));
    dark.addEventListener("change", redraw);
    let waiting = 0;
    addEventListener("resize", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => { for (const [host, one] of drawn) if (host.isConnected && host.clientWidth !== one.width) draw(host, one.chart); }, 200);
    });
    addEventListener("beforeprint", () => {
      document.dispatchEvent(new Event("drawall"));
      document.querySelectorAll("details").forEach((one) => { one.open = true; });
      printing = true;
      if (dark.matches) redraw();
      document.querySelectorAll("figure.chart").forEach((host) => { if (host.chart || host.dataset.chart in data.charts) show(host); });
    });
    addEventListener("afterprint", () => { printing = false; if (dark.matches) redraw(); });
    document.documentElement.dataset.ready = "yes";
    return data;
  })();
  return { bars, button, draw, place, ready, signal, tables };
})();
