// The parts of a report that answer: one feature, curves by class, threshold and money, explained rows.
page.ready.then(({ more }) => {
  const { classes, positive, templates } = more, two = classes.length === 2;
  const byId = (id) => document.getElementById(id);
  const make = (tag, facts = {}, ...children) => {
    const one = Object.assign(document.createElement(tag), facts);
    one.append(...children);
    return one;
  };
  const fixed = (x, digits) => (x === null || x === undefined || Number.isNaN(x) ? "–" : x.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }).replace("-", "−"));
  const signed = (x, digits = 4) => (x > 0 ? "+" : "") + fixed(x, digits);
  const percent = (x) => (Number.isFinite(x) ? `${fixed(100 * x, 1)}%` : "–");
  const count = (x) => fixed(x, Number.isInteger(x) ? 0 : 1);
  const shown = (text) => (text.trim() ? text : "(empty)");
  const tone = { signals: {} };
  // What numbers by class say of class j: of two classes the log-odds, else the number itself.
  const of = (numbers, j) => (two ? numbers[j] - numbers[1 - j] : numbers[j]);
  const errorOf = (errors, j) => (two ? errors[0] + errors[1] : errors[j]);
  const fill = (select, labels, change) => {
    select.replaceChildren(...labels.map((label, i) => make("option", { value: i, textContent: shown(label) })));
    select.addEventListener("change", () => change(Number(select.value)));
  };
  const tableOf = (heads, rows) => make("table", { className: "sortable" },
    make("thead", {}, make("tr", {}, ...heads.map((head, k) => make("th", { scope: "col", className: k ? "right" : "", textContent: head })))),
    make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((cell, k) => make("td", { className: k ? "right" : "name", textContent: cell }))))));

  const columns = (lines) => Object.fromEntries(Object.keys(lines[0] ?? {}).map((name) => [name, lines.map((line) => line[name])]));
  // Draws parts that add up, the smallest together, and returns them with their total.
  const fallInto = (host, parts) => {
    let at = 0;
    const fall = parts.map((part) => ({ ...part, from: at, to: (at += part.amount) }));
    const total = { label: "Total", value: "", level: "", amount: at, from: 0, to: at };
    const rest = { label: `${fall.length - 13} other features`, value: "", amount: at - fall[12]?.to, from: fall[12]?.to, to: at };
    const lines = [...(fall.length > 14 ? [...fall.slice(0, 13), rest] : fall), total].map(({ level, ...line }) => line);
    page.place(host, { spec: templates.fall, frames: { rows: columns(lines) }, main: "rows" });
    return [...fall, total];
  };

  // One feature.
  const { features } = more, panel = byId("feature-panel");
  const cellsOf = ({ cells, unseen }, j) => {
    const total = cells.rows.reduce((a, b) => a + b, 0);
    const lines = cells.label.map((label, i) => {
      const c = of(cells.contributions[i], j), e = errorOf(cells.errors[i], j);
      return { label: shown(label), rows: cells.rows[i], events: cells.counts[i][j], share: cells.rows[i] / total, evidence: of(cells.evidence[i], j), contribution: c, error: e, low: c - e, high: c + e, from: cells.low[i], to: cells.high[i] };
    });
    return [...lines, { label: "(not seen in training)", rows: 0, events: 0, share: 0, evidence: null, contribution: of(unseen, j), error: null, low: null, high: null, from: null, to: null, unseen: true }];
  };
  const chartsOf = (feature, j) => {
    const lines = cellsOf(feature, j).filter((line) => !line.unseen), charts = [];
    const inside = lines.filter((line) => line.from !== null || line.to !== null);
    if (feature.kind === "numeric" && inside.length > 1) {
      const cuts = inside.flatMap((line) => [line.from, line.to]).filter((x) => x !== null);
      const room = 0.08 * (Math.max(...cuts) - Math.min(...cuts)) || 1;
      const ends = inside.map((line) => ({ ...line, from: line.from ?? Math.min(...cuts) - room, to: line.to ?? Math.max(...cuts) + room }));
      charts.push({ spec: templates.steps, frames: { rows: columns(ends) }, main: "rows" });
    }
    if (feature.grid) {
      const { labels, levels, counts } = feature.grid;
      const places = levels.flatMap((line, a) => line.map((level, b) => ({ first: labels[0][a], second: labels[1][b], contribution: level === null ? null : lines[level].contribution, rows: counts[a][b] })));
      const limit = Math.max(...places.map((place) => Math.abs(place.contribution ?? 0))) || 1;
      charts.push({ spec: templates.pair, frames: { rows: columns(places) }, main: "rows", signals: { limit } });
    } else if (lines.length <= 60) charts.push({ spec: templates.bars, frames: { rows: columns(lines) }, main: "rows" });
    return charts;
  };
  const describe = (feature, j) => {
    const lines = cellsOf(feature, j);
    const heads = ["Cell", "Rows", `Rows of ${shown(classes[j])}`, "Share of the class", "Weight of evidence", "Contribution", "Standard error"];
    const rows = lines.map((line) => [line.label, count(line.rows), count(line.events), percent(line.events / line.rows), line.evidence === null ? "–" : signed(line.evidence), signed(line.contribution, 6), fixed(line.error, 4)]);
    const facts = `${feature.kind} · importance ${percent(feature.importance)} · weight ${fixed(feature.weight, 3)} · level score ${fixed(feature.score, 3)}`;
    const hosts = chartsOf(feature, j).map((chart) => {
      const host = make("figure", { className: "chart" });
      host.setAttribute("role", "group");
      host.setAttribute("aria-label", `Contributions of ${feature.name}; the numbers follow as a table`);
      page.place(host, chart);
      return host;
    });
    const scroll = make("div", { className: "scroll", tabIndex: 0 }, tableOf(heads, rows));
    return [make("h3", { textContent: shown(feature.name) }), make("p", { className: "soft", textContent: [facts, feature.note].filter(Boolean).join(". ") }), ...hosts, scroll];
  };
  if (panel) {
    const choice = byId("feature-choice"), ofClass = byId("feature-class");
    const current = () => (ofClass ? Number(ofClass.value) : positive);
    const show = () => {
      panel.replaceChildren(...describe(features[Number(choice.value)], current()));
      page.tables(panel);
    };
    fill(choice, features.map((feature) => feature.name), show);
    if (ofClass) fill(ofClass, classes, show);
    document.querySelectorAll("a[data-feature]").forEach((link) => link.addEventListener("click", () => { choice.value = link.dataset.feature; show(); }));
    show();
    document.addEventListener("drawall", () => {
      byId("feature-others").replaceChildren(...features.flatMap((feature, k) => (k === Number(choice.value) ? [] : describe(feature, current()))));
    });
    addEventListener("afterprint", () => byId("feature-others").replaceChildren());
  }

  // Curves by class.
  const curves = Object.entries(more.curves);
  if (curves.length) {
    const hosts = ["reliability", "roc"].map((name) => document.querySelector(`[data-chart="${name}"]`));
    const draw = (k) => hosts.forEach((host) => page.place(host, { spec: templates[host.dataset.chart], frames: { rows: curves[k][1][host.dataset.chart] }, main: "rows" }));
    byId("curves").hidden = false;
    byId("curve-tools").hidden = curves.length === 1;
    fill(byId("curve-class"), curves.map(([label]) => label), draw);
    draw(0);
  }

  // Segments: [label, share of the rows, share in training, [predicted, observed, rows, low, high, weight]] by feature.
  if (more.segments.length) {
    const draw = (k) => {
      const lines = more.segments[k][1].map(([label, share, before, [predicted, observed, rows, low, high]]) => ({ label: shown(label), rows, predicted, observed, low, high, share, before }));
      page.place(byId("segment-chart"), { spec: templates.segments, frames: { rows: columns(lines) }, main: "rows" });
      const heads = ["Level", "Rows", "Share of rows", "Share in training", "Observed", "95% interval", "Predicted"];
      byId("segment-table").replaceChildren(tableOf(heads, lines.map((line) => [line.label, count(line.rows), percent(line.share), percent(line.before), percent(line.observed), `${percent(line.low)} to ${percent(line.high)}`, percent(line.predicted)])));
      page.tables(byId("segment-table"));
    };
    fill(byId("segment-choice"), more.segments.map(([name]) => name), draw);
    draw(0);
  }

  // Threshold and money: [threshold, rows of the class, other rows] with at least this probability.
  const steps = more.thresholds, slider = byId("threshold-slider");
  if (slider && steps.length) {
    const [, hits, others] = steps[steps.length - 1], all = hits + others, host = document.querySelector('[data-chart="threshold"]');
    const gain = (id) => Number(byId(id).value) || 0;
    const profit = ([, h, o]) => h * gain("gain-hit") + o * gain("gain-false") + (hits - h) * gain("gain-missed") + (others - o) * gain("gain-rest");
    const ratio = (a, b) => (b ? a / b : NaN);
    const show = () => {
      const step = steps[slider.valueAsNumber], [threshold, h, o] = step, month = gain("per-month") / all;
      byId("threshold-value").value = `${fixed(threshold, 4)}`;
      const line = (name, ...cells) => make("tr", {}, make("th", { scope: "row", textContent: name }), ...cells.map((n) => make("td", { textContent: count(n) })));
      byId("threshold-matrix").replaceChildren(
        make("thead", {}, make("tr", {}, make("td"), make("th", { textContent: "selected" }), make("th", { textContent: "not selected" }))),
        make("tbody", {}, line(shown(classes[positive]), h, hits - h), line(two ? shown(classes[1 - positive]) : "others", o, others - o)),
      );
      const facts = { Selected: percent((h + o) / all), Precision: percent(ratio(h, h + o)), "Recall (gains)": percent(ratio(h, hits)), "False positive rate": percent(ratio(o, others)), Lift: fixed(ratio(h, h + o) / (hits / all), 2), Profit: fixed(profit(step), 2), "Selected a month": fixed(month * (h + o), 0), "Profit a month": fixed(month * profit(step), 2) };
      byId("threshold-measures").replaceChildren(...Object.entries(facts).flatMap(([name, value]) => {
        const cell = make("dd", { textContent: value });
        cell.dataset.measure = name;
        return [make("dt", { textContent: name }), cell];
      }));
      const points = [[null, 0, 0], ...steps].map((one) => ({ share: (one[1] + one[2]) / all, profit: profit(one) }));
      page.place(host, { spec: templates.threshold, frames: { rows: columns(points) }, main: "rows", signals: { cut: (h + o) / all } });
    };
    const best = () => steps.reduce((top, step, k) => (profit(step) > profit(steps[top]) ? k : top), 0);
    slider.value = best();
    slider.addEventListener("input", show);
    document.querySelectorAll("#threshold .form input").forEach((field) => field.addEventListener("input", show));
    show();
  }

  // What if: the program of the model works out every score.
  const form = byId("what-if-form");
  if (form) {
    const { score, model } = globalThis.scoring, fields = new Map();
    const readerOf = (name) => model.readers.find((reader) => reader.columns.length === 1 && reader.columns[0] === name) ?? { values: [], cuts: null, kind: "number" };
    // Values that stand for the cells of a column: known ones, and numbers on both sides of each cut.
    const valuesOf = (name) => {
      const { values, cuts } = readerOf(name), known = values.flat().filter((value) => value !== null).map(String);
      const middles = cuts?.length ? [cuts[0], ...cuts.map((cut, i) => (i + 1 < cuts.length ? (cut + cuts[i + 1]) / 2 : cut + Math.max(1, Math.abs(cut)) * 0.01))] : [];
      return [...known, ...middles.map(String)];
    };
    for (const { name, title } of model.columns) {
      const { kind, values } = readerOf(name), texts = kind === "text" ? [...new Set(values.flat().filter((value) => value !== null).map(String))] : [];
      const field = texts.length && texts.length <= 500
        ? make("select", {}, make("option", { value: "", textContent: "(missing)" }), ...texts.map((text) => make("option", { value: text, textContent: shown(text) })))
        : make("input", { type: "text", autocomplete: "off", spellcheck: false });
      field.dataset.column = name;
      fields.set(name, field);
      form.append(make("label", {}, shown(title ?? name), field));
      field.addEventListener("input", () => show());
    }
    const rowNow = () => Object.fromEntries([...fields].map(([name, field]) => [name, (field.tagName === "SELECT" ? field.selectedIndex === 0 : field.value === "") ? null : field.value]));
    const set = (values) => { for (const [name, field] of fields) field.value = values[name] ?? ""; };
    const show = () => {
      const result = byId("what-if-result"), row = rowNow();
      let found;
      try { found = score(row, { reasons: 0 }); } catch (error) { result.replaceChildren(make("caption", { textContent: error.message })); return; }
      result.replaceChildren(make("tbody", {}, ...model.classes.map((label, j) => {
        const cell = make("td", { textContent: percent(found.probabilities[j]) });
        cell.dataset.probability = label;
        cell.dataset.v = found.probabilities[j];
        if (label === found.predicted) cell.className = "right-answer";
        return make("tr", {}, make("th", { scope: "row", textContent: `P(${shown(String(label))})` }), cell);
      })));
      const { contributions } = found;
      const parts = [...contributions.features].filter((part) => part.contribution !== 0).sort((a, b) => Math.abs(b.contribution) - Math.abs(a.contribution));
      fallInto(byId("what-if-chart"), [{ label: "Every row", value: "", amount: contributions.intercept }, ...parts.map((part) => ({ label: shown(part.feature), value: part.level, amount: part.contribution }))]);
      const at = model.classes.indexOf(found.predicted), flips = [];
      for (const name of fields.keys()) {
        let least = null;
        for (const value of [...valuesOf(name), null]) {
          const other = score({ ...row, [name]: value }, { reasons: 0 });
          const change = Math.abs(Math.log(other.probabilities[at]) - Math.log(found.probabilities[at]));
          if (other.predicted !== found.predicted && (least === null || change < least.change)) least = { name, value, change, other };
        }
        if (least) flips.push(least);
      }
      flips.sort((a, b) => a.change - b.change);
      byId("what-if-changes").replaceChildren(flips.length
        ? tableOf(["Column", "Value", "Then"], flips.slice(0, 5).map(({ name, value, other }) => [name, value ?? "(missing)", shown(String(other.predicted))]))
        : make("p", { className: "soft", textContent: "No change of a single column gives another class." }));
    };
    const starts = more.rows.map((row) => [row.title, Object.fromEntries(row.contributions.filter((part) => fields.has(part.feature)).map((part) => [part.feature, part.value === "missing" ? "" : part.value]))]);
    const usual = Object.fromEntries(model.columns.map(({ name }) => {
      const feature = features.find((one) => one.name === name);
      const top = feature ? feature.cells.rows.indexOf(Math.max(...feature.cells.rows)) : 0;
      const low = feature?.cells.low[top] ?? null, high = feature?.cells.high[top] ?? null, { values } = readerOf(name);
      const whole = high !== null && Math.floor(high) > (low ?? -Infinity) ? Math.floor(high) : null;
      const between = whole ?? (low !== null && high !== null ? (low + high) / 2 : null) ?? high ?? (low === null ? null : Math.floor(low) + 1);
      return [name, between ?? String((values[top] ?? values.flat())[0] ?? "")];
    }));
    const pick = make("select");
    fill(pick, ["a usual row", ...starts.map(([title]) => title)], (k) => { set(k ? starts[k - 1][1] : usual); show(); });
    byId("what-if-tools").append(make("label", {}, "Begin with ", pick));
    set(usual);
    show();
  }

  // Explained rows.
  const rows = byId("explained-rows");
  for (const row of rows ? more.rows : []) {
    const j = two ? positive : Math.max(0, classes.indexOf(row.predicted));
    const parts = row.contributions.map((part) => ({ label: shown(part.feature), value: part.value, level: part.level, amount: of(part.contributions, j) }));
    parts.sort((a, b) => Math.abs(b.amount) - Math.abs(a.amount));
    const host = make("figure", { className: "chart" });
    const fall = fallInto(host, [{ label: "Every row", value: "", level: "", amount: of(row.prior, j) }, ...parts]);
    const [low, high] = row.intervals[j];
    const verdict = `Row ${row.row.toLocaleString("en")}: predicted ${shown(row.predicted)}${row.truth === null ? "" : `, in truth ${shown(row.truth)}`}. P(${shown(classes[j])}) is ${percent(row.probabilities[j])} (90% interval ${percent(low)} to ${percent(high)}).`;
    const table = tableOf(["Feature", "Value", "Cell", "Nats"], fall.map((line) => [line.label, line.value, line.level ?? "", signed(line.amount, 6)]));
    rows.append(make("h3", { textContent: row.title }), make("p", { textContent: verdict }), host, make("details", { className: "more" }, make("summary", { textContent: "The numbers" }), table));
  }
  if (rows) page.tables(rows);
});
