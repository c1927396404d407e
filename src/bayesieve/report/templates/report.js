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
  // What numbers by class say of class j: of two classes the log-odds, else the number itself.
  const of = (numbers, j) => (two ? numbers[j] - numbers[1 - j] : numbers[j]);
  const errorOf = (errors, j) => (two ? errors[0] + errors[1] : errors[j]);
  const fill = (select, labels, change) => {
    select.replaceChildren(...labels.map((label, i) => make("option", { value: i, textContent: shown(label) })));
    select.addEventListener("change", () => change(Number(select.value)));
  };
  // Narrow screens hide the columns at the positions `minor`.
  const tableOf = (heads, rows, minor = []) => {
    const looks = (k, first) => `${k ? "right" : first}${minor.includes(k) ? " narrow-off" : ""}`;
    return make("table", { className: "sortable" },
      make("thead", {}, make("tr", {}, ...heads.map((head, k) => make("th", { scope: "col", className: looks(k, ""), textContent: head })))),
      make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((cell, k) => make("td", { className: looks(k, "name"), textContent: cell }))))));
  };

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
  const cellsOf = ({ cells, unseen, others }, j) => {
    const beside = (i) => {
      const rows = others?.[i]?.reduce((a, b) => a + b, 0) ?? null;
      return { otherRows: rows, otherEvents: rows === null ? null : others[i][j] };
    };
    const lines = cells.label.map((label, i) => {
      const c = of(cells.contributions[i], j), e = errorOf(cells.errors[i], j);
      return { label: shown(label), level: shown(cells.level?.[i] ?? label), isMissing: cells.is_missing[i], rows: cells.rows[i], events: cells.counts[i][j], evidence: of(cells.evidence[i], j), contribution: c, error: e, low: c - e, high: c + e, from: cells.low[i], to: cells.high[i], ...beside(i) };
    });
    return [...lines, { label: "(not seen in training)", level: "(not seen in training)", rows: 0, events: 0, evidence: null, contribution: of(unseen, j), error: null, low: null, high: null, from: null, to: null, unseen: true, ...beside(lines.length) }];
  };
  // Numbers ascending, categories by contribution; then special values, missing ones, and those that were never seen.
  const ordered = (feature, lines) => {
    const isNumber = feature.kind === "numeric", place = (line) => (line.unseen ? 3 : !isNumber ? 0 : line.from !== null || line.to !== null ? 0 : line.isMissing ? 2 : 1);
    const value = (line) => (isNumber ? line.from ?? -Infinity : -line.contribution);
    return feature.grid ? lines : [...lines].sort((a, b) => place(a) - place(b) || (value(a) === value(b) ? 0 : value(a) - value(b)));
  };
  // Cells as one line: sums of rows, and the mean contribution of their training rows.
  const joined = (label, cells) => {
    const sum = (name) => (cells.some((cell) => cell[name] === null) ? null : cells.reduce((total, cell) => total + cell[name], 0));
    const rows = sum("rows"), mean = (name) => cells.reduce((total, cell) => total + cell[name] * (rows ? cell.rows : 1), 0) / (rows || cells.length);
    const all = cells.map((cell) => cell.contribution), [first, last] = [cells[0], cells[cells.length - 1]];
    const sums = Object.fromEntries(["events", "otherRows", "otherEvents"].map((name) => [name, sum(name)]));
    return { ...first, ...sums, label, rows, from: first.from, to: last.to, contribution: mean("contribution"), least: Math.min(...all), most: Math.max(...all), nCells: cells.length,
      ...(cells.length > 1 ? { error: null, low: null, high: null } : {}) };
  };
  // One line for each level; of a curve within one level a few stretches of it, of values within one group the cells.
  const MOST_STRETCHES = 8, MOST_LINES = 220;
  const isInside = (line) => line.from !== null || line.to !== null;
  const levelsOf = (feature, lines) => {
    const groups = new Map();
    for (const line of lines) groups.set(line.level, [...(groups.get(line.level) ?? []), line]);
    const levels = ordered(feature, [...groups].map(([label, cells]) => joined(label, cells)));
    if (!feature.ends && levels.filter((line) => !line.unseen).length < 2) return ordered(feature, lines);
    if (!feature.ends || levels.filter(isInside).length > 1) return levels;
    const cells = ordered(feature, lines), inside = cells.filter(isInside), size = Math.ceil(inside.length / MOST_STRETCHES);
    const digits = (end) => Number(end.toPrecision(4)).toLocaleString("en");
    const text = (first, last) => (feature.type !== "number" ? `${first.label} to ${last.label}` : first.from === null ? `up to ${digits(last.to)}` : last.to === null ? `above ${digits(first.from)}` : `${digits(first.from)} to ${digits(last.to)}`);
    const stretches = Array.from({ length: Math.ceil(inside.length / size) }, (_, k) => inside.slice(k * size, (k + 1) * size));
    return [...stretches.map((part) => ({ ...joined(part.length > 1 ? text(part[0], part[part.length - 1]) : part[0].label, part), evidence: null })), ...cells.filter((line) => !isInside(line))];
  };
  // Lines for the chart of all levels: of many levels the strongest.
  const glanceOf = (feature, j) => {
    const levels = levelsOf(feature, cellsOf(feature, j).filter((line) => !line.unseen));
    if (levels.length <= 2 * MOST_STRETCHES) return levels;
    const strongest = [...levels].sort((a, b) => b.contribution - a.contribution), rest = strongest.slice(MOST_STRETCHES, -MOST_STRETCHES);
    return [...strongest.slice(0, MOST_STRETCHES), joined(`${rest.length} others`, rest), ...strongest.slice(-MOST_STRETCHES)];
  };
  const drawAll = (j) => {
    const lines = [];
    let n = 0;
    for (const feature of features) {
      const own = glanceOf(feature, j);
      if (n && lines.length + own.length > MOST_LINES) break;
      lines.push({ line: `${n}|${shown(feature.name)}`, feature: feature.name, label: "", contribution: 0, rows: null, share: null });
      own.forEach((one, k) => lines.push({ line: `${n}.${k}|${one.label}`, feature: feature.name, label: one.label, contribution: one.contribution, rows: one.rows, share: one.rows ? one.events / one.rows : null }));
      n += 1;
    }
    byId("all-levels-about").textContent = `Nats that each level adds to the ${two ? "log-odds" : "score"} of ${shown(classes[j])}${n < features.length ? `, of the ${n} most important features` : ""}; within a level that is divided, the mean over its training rows.`;
    byId("all-levels").classList.toggle("one-page", lines.length <= 70);  // of print, on which more lines are too small
    page.place(byId("all-levels"), { spec: templates["all levels"], frames: { rows: columns(lines) }, main: "rows" });
  };
  // Wilson's 95% interval of a share.
  const wilson = (events, rows) => {
    const z = 1.959964, p = events / rows, whole = 1 + (z * z) / rows, half = z * Math.sqrt((p * (1 - p)) / rows + (z * z) / (4 * rows * rows));
    return [(p + (z * z) / (2 * rows) - half) / whole, (p + (z * z) / (2 * rows) + half) / whole];
  };
  const sharesOf = (lines) => lines.filter((line) => line.rows > 0 || line.otherRows > 0).map((line) => {
    const [low, high] = line.otherRows > 0 ? wilson(line.otherEvents, line.otherRows) : [null, null];
    return { label: line.label, rows: line.rows, share: line.rows > 0 ? line.events / line.rows : null, other_rows: line.otherRows, other: line.otherRows > 0 ? line.otherEvents / line.otherRows : null, low, high };
  });
  const chartsOf = (feature, j) => {
    const lines = cellsOf(feature, j).filter((line) => !line.unseen), levels = levelsOf(feature, lines), charts = [];
    const inside = lines.filter(isInside);
    if (feature.ends && inside.length > 1) {
      const ends = inside.map((line) => ({ ...line, from: line.from ?? feature.ends[0], to: line.to ?? feature.ends[1] }));
      charts.push({ spec: templates.steps, frames: { rows: columns(ends), density: feature.density }, main: "rows" });
    }
    if (feature.grid) {
      const { labels, levels, counts } = feature.grid;
      const places = levels.flatMap((line, a) => line.map((level, b) => ({ first: labels[0][a], second: labels[1][b], contribution: level === null ? null : lines[level].contribution, rows: counts[a][b] })));
      const limit = Math.max(...places.map((place) => Math.abs(place.contribution ?? 0))) || 1;
      charts.push({ spec: templates.pair, frames: { rows: columns(places) }, main: "rows", signals: { limit } });
    } else if (levels.length > 1 && levels.length <= 60) {
      charts.push({ spec: templates.bars, frames: { rows: columns(levels) }, main: "rows" });
      charts.push({ spec: templates.shares, frames: { rows: columns(sharesOf(levelsOf(feature, cellsOf(feature, j)))) }, main: "rows" });
    }
    return charts;
  };
  const describe = (feature, j) => {
    const lines = ordered(feature, cellsOf(feature, j)), levels = levelsOf(feature, lines), isDivided = levels.length < lines.length;
    const heads = ["Rows", `Rows of ${shown(classes[j])}`, "Share of the class", "Weight of evidence", "Contribution"];
    const other = feature.others ? [more.beside, "Share of the class there"] : [];
    const cellsIn = (line) => (isDivided && line.nCells > 1 ? [`${signed(line.least, 3)} to ${signed(line.most, 3)}`, line.nCells] : ["", ""]);
    const rowOf = (line, ...more) => [line.label, count(line.rows), count(line.events), percent(line.events / line.rows), line.evidence === null ? "–" : signed(line.evidence), signed(line.contribution, 6), ...more, ...(feature.others ? [count(line.otherRows), percent(line.otherEvents / line.otherRows)] : [])];
    const table = (name, more, rows) => make("div", { className: "scroll", tabIndex: 0 }, tableOf([name, ...heads, ...more, ...other], rows, [2, 4, ...more.map((_, k) => 6 + k)]));
    const cells = table("Cell", ["Standard error"], lines.map((line) => rowOf(line, fixed(line.error, 4))));
    const whole = isDivided
      ? [table("Level", ["Within the level", "Cells"], levels.map((line) => rowOf(line, ...cellsIn(line)))), make("details", { className: "more print-off" }, make("summary", {}, make("span", { className: "name", textContent: "Cells" }), make("span", { className: "facts", textContent: `${lines.length} lines` })), cells)]
      : [cells];
    const gain = feature.gain === null ? "" : `Without this feature the log loss of rows held out ${feature.gain < 0 ? "falls" : "rises"} by ${fixed(Math.abs(feature.gain), 4)} nats a row.`;
    const chance = { "": "", "under 2": "Columns without effect often score as high." }[feature.by_chance] ?? `A column without effect scores as high in at most 1 of ${feature.by_chance.replace("over ", "")} tables.`;
    const density = feature.density ? "Grey: the training rows along the axis." : "";
    const facts = `${feature.kind} · importance ${percent(feature.importance)} · weight ${fixed(feature.weight, 3)} · level score ${fixed(feature.level_score, 3)}`;
    const hosts = chartsOf(feature, j).map((chart) => {
      const host = make("figure", { className: "chart" });
      host.setAttribute("role", "group");
      host.setAttribute("aria-label", `Contributions of ${feature.name}; the numbers follow as a table`);
      page.place(host, chart);
      return host;
    });
    return [make("h3", { textContent: shown(feature.name) }), make("p", { className: "soft", textContent: `${[facts, feature.note?.replace(/\.$/, "")].filter(Boolean).join(". ")}. ${[gain, chance, density].filter(Boolean).join(" ")}` }), ...(feature.caution ? [make("p", { className: "note", textContent: feature.caution })] : []), ...hosts, ...sliceOf(feature, cellsOf(feature, j)), ...whole];
  };
  // A pair at one level of its first column.
  const sliceOf = ({ grid }, lines) => {
    if (!grid) return [];
    const choice = make("select"), host = make("figure", { className: "chart" });
    const draw = (a) => {
      const places = grid.levels[a].map((level, b) => (level === null ? null : { ...lines[level], label: shown(grid.labels[1][b]), rows: grid.counts[a][b] })).filter(Boolean);
      page.place(host, { spec: templates.bars, frames: { rows: columns(places) }, main: "rows" });
    };
    fill(choice, grid.labels[0], draw);
    draw(0);
    host.setAttribute("role", "group");
    host.setAttribute("aria-label", `Contributions at one level of ${grid.names[0]}`);
    return [make("p", { className: "tools" }, make("label", {}, `Slice: ${grid.names[1]} where ${grid.names[0]} is `, choice)), host];
  };
  if (panel) {
    const choice = byId("feature-choice"), ofClass = byId("feature-class");
    const current = () => (ofClass ? Number(ofClass.value) : positive);
    const show = () => {
      panel.replaceChildren(...describe(features[Number(choice.value)], current()));
      page.tables(panel);
    };
    fill(choice, features.map((feature) => feature.name), show);
    if (ofClass) fill(ofClass, classes, (j) => { show(); drawAll(j); });
    drawAll(current());
    byId("only-used")?.addEventListener("input", (event) => { for (const row of byId("feature-table").tBodies[0].rows) row.hidden = event.target.checked && row.className === "off"; });
    document.querySelectorAll("a[data-feature]").forEach((link) => link.addEventListener("click", () => { choice.value = link.dataset.feature; show(); }));
    show();
    document.addEventListener("drawall", () => {
      byId("feature-others").replaceChildren(...features.flatMap((feature, k) => (k === Number(choice.value) ? [] : describe(feature, current()))));
    });
    addEventListener("afterprint", () => byId("feature-others").replaceChildren());
  }

  // Curves by class, the most frequent first: bins [predicted, observed, rows, low, high, weight], and points.
  const bins = new Map(more.reliability), points = new Map(more.roc), size = (label) => more.class_counts[classes.indexOf(label)] ?? 0;
  const curves = [...new Map([...bins, ...points]).keys()].sort((a, b) => size(b) - size(a)).map((label) => [label, {
    reliability: columns((bins.get(label) ?? []).map(([predicted, observed, count, low, high]) => ({ predicted, observed, low, high, count }))),
    roc: columns((points.get(label) ?? []).map(([fpr, tpr]) => ({ fpr, tpr }))),
  }]);
  if (curves.length) {
    const hosts = ["reliability", "roc"].map((name) => document.querySelector(`[data-chart="${name}"]`));
    const draw = (k) => hosts.forEach((host) => page.place(host, { spec: templates[host.dataset.chart], frames: { rows: curves[k][1][host.dataset.chart] }, main: "rows" }));
    byId("curves").hidden = false;
    byId("curve-tools").hidden = curves.length === 1;
    fill(byId("curve-class"), curves.map(([label]) => label), draw);
    draw(0);
  }

  // Segments: [label, share of the rows, share in training, [predicted, observed, rows, low, high, weight], AUC, log loss].
  if (more.segments.length) {
    const range = ([value, low, high], digits = 3) => (value === null ? "–" : `${fixed(value, digits)}${low === null ? "" : ` (${fixed(low, digits)} to ${fixed(high, digits)})`}`);
    const draw = (k) => {
      const lines = more.segments[k][1].map(([label, share, before, [predicted, observed, rows, low, high], auc, loss]) => ({ label: shown(label), rows, predicted, observed, low, high, share, before, auc, loss }));
      page.place(byId("segment-chart"), { spec: templates.segments, frames: { rows: columns(lines.map(({ auc, loss, ...line }) => line)) }, main: "rows" });
      const known = lines.every((line) => line.before !== null);
      const heads = ["Level", "Rows", "Share of rows", ...(known ? ["Share in training"] : []), "Observed", "95% interval", "Predicted", "AUC", "Log loss, nats"];
      byId("segment-table").replaceChildren(tableOf(heads, lines.map((line) => [line.label, count(line.rows), percent(line.share), ...(known ? [percent(line.before)] : []), percent(line.observed), `${percent(line.low)} to ${percent(line.high)}`, percent(line.predicted), range(line.auc), range(line.loss)])));
      page.tables(byId("segment-table"));
      const drifting = lines.filter((line) => line.share > 0 && line.before > 0);
      const psi = drifting.reduce((sum, { share, before }) => sum + (share - before) * Math.log(share / before), 0);
      byId("segment-drift").textContent = known ? `Population stability index of these rows against training: ${fixed(psi, 4)} (below 0.1: alike).` : "";
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
      for (const one of [host, gainsHost, liftHost]) page.signal(one, "cut", (h + o) / all);
    };
    const points = [[null, 0, 0], ...steps];
    const drawProfit = () => page.place(host, { spec: templates.threshold, frames: { rows: columns(points.map((one) => ({ share: (one[1] + one[2]) / all, profit: profit(one) }))) }, main: "rows", signals: { cut: 0 } });
    const [gainsHost, liftHost] = ["gains", "lift"].map((name) => document.querySelector(`[data-chart="${name}"]`));
    const drawGains = () => {
      const both = [classes[positive], two ? classes[1 - positive] : "others"].map(shown);
      const gains = points.map(([, h, o]) => ({ share: (h + o) / all, gain: ratio(o, others), class: both[1] })).concat(points.map(([, h, o]) => ({ share: (h + o) / all, gain: ratio(h, hits), class: both[0] })));
      const lifts = steps.map(([, h, o]) => ({ share: (h + o) / all, lift: ratio(h, h + o) / (hits / all) }));
      page.place(gainsHost, { spec: templates.gains, frames: { rows: columns(gains) }, main: "rows", signals: { cut: 0 } });
      page.place(liftHost, { spec: templates.lift, frames: { rows: columns(lifts) }, main: "rows", signals: { cut: 0 } });
      const distance = ([, h, o]) => Math.abs(ratio(h, hits) - ratio(o, others)), top = steps.reduce((best, step) => (distance(step) > distance(best) ? step : best), steps[0]);
      byId("ks-about").textContent = Number.isFinite(distance(top)) ? `They are farthest apart at a threshold of about ${fixed(top[0], 3)}.` : "";
    };
    const best = () => steps.reduce((top, step, k) => (profit(step) > profit(steps[top]) ? k : top), 0);
    slider.value = best();
    slider.addEventListener("input", show);
    document.querySelectorAll("#threshold .form input").forEach((field) => field.addEventListener("input", () => { drawProfit(); show(); }));
    drawProfit();
    drawGains();
    show();
  }

  // What if: the program of the model works out every score.
  const form = byId("what-if-form");
  if (form) {
    const { scoring } = globalThis, { score, model } = scoring, fields = new Map(), keeps = new Map();
    const movable = changes.prepared(scoring, more.changes);
    let asked = 0; // how often changes were looked for: a later question ends the work on an earlier one
    // All readers of a column as one: several indicators may read it, each with a cut.
    const readerOf = (name) => {
      const own = model.readers.filter((reader) => reader.column === name);
      return { kind: own[0]?.kind ?? "number", values: own.flatMap((reader) => reader.values) };
    };
    for (const { name, title } of model.columns) {
      const { kind, values } = readerOf(name), texts = kind === "text" ? [...new Set(values.flat().filter((value) => value !== null).map(String))] : [];
      const field = texts.length && texts.length <= 500
        ? make("select", {}, make("option", { value: "", textContent: "(missing)" }), ...texts.map((text) => make("option", { value: text, textContent: shown(text) })))
        : make("input", { type: "text", autocomplete: "off", spellcheck: false });
      field.dataset.column = name;
      fields.set(name, field);
      const keep = make("input", { type: "checkbox", checked: more.changes.find((one) => one.name === name)?.fixed ?? true });
      keep.dataset.keep = name;
      keeps.set(name, keep);
      form.append(make("div", {}, make("label", {}, shown(title ?? name), field), make("label", { className: "keep" }, keep, "keep")));
      for (const one of [field, keep]) one.addEventListener("input", () => show());
    }
    // 90% intervals of the probabilities, normal on the scale of log odds, as predict_interval gives them.
    const ofTerms = [...features].sort((a, b) => a.position - b.position), nOfNumbers = two ? 1 : classes.length;
    const intervals = ({ probabilities, contributions }) => {
      if (ofTerms.some(({ variances }) => !variances)) return null;
      const own = more.factors.slice(0, nOfNumbers), shared = more.factors.slice(nOfNumbers), width = shared.length / nOfNumbers;
      contributions.features.forEach(({ cell }, k) => {
        const [factors, rest] = ofTerms[k].variances;
        rest[cell].forEach((variance, i) => (own[i] += variance));
        factors[cell].forEach((line, i) => line.forEach((factor, f) => (shared[i * width + f] += factor)));
      });
      const variances = own.map((variance, i) => shared.slice(i * width, (i + 1) * width).reduce((sum, factor) => sum + factor * factor, variance));
      return probabilities.map((p, j) => {
        const rest = probabilities.reduce((sum, other, i) => sum + (i === j ? 0 : other), 0);
        const variance = two ? variances[0] : variances[j] + probabilities.reduce((sum, other, i) => sum + (i === j ? 0 : (other / rest) ** 2 * variances[i]), 0);
        const odds = Math.log(p) - Math.log(rest), reach = 1.6448536269514722 * Math.sqrt(variance);
        return [odds - reach, odds + reach].map((end) => 1 / (1 + Math.exp(-end)));
      });
    };
    const rowNow = () => Object.fromEntries([...fields].map(([name, field]) => [name, (field.tagName === "SELECT" ? field.selectedIndex === 0 : field.value === "") ? null : field.value]));
    const set = (values) => { for (const [name, field] of fields) field.value = values[name] ?? ""; };
    const show = () => {
      const result = byId("what-if-result"), row = rowNow();
      let found;
      try { found = score(row); } catch (error) { result.replaceChildren(make("caption", { textContent: error.message })); return; }
      const ends = intervals(found);
      result.replaceChildren(make("tbody", {}, ...model.classes.map((label, j) => {
        const cell = make("td", { textContent: percent(found.probabilities[j]) });
        cell.dataset.probability = label;
        cell.dataset.v = found.probabilities[j];
        if (label === found.predicted) cell.className = "right-answer";
        const range = make("td", { textContent: ends ? `90% interval ${percent(ends[j][0])} to ${percent(ends[j][1])}` : "" });
        if (ends) [range.dataset.low, range.dataset.high] = ends[j];
        return make("tr", {}, make("th", { scope: "row", textContent: `P(${shown(String(label))})` }), cell, range);
      })));
      const speaks = model.reasons_against === null ? `for ${shown(String(found.predicted))}` : `against ${shown(String(model.classes[model.reasons_against]))}`;
      byId("what-if-reasons").replaceChildren(make("h3", { textContent: `What speaks ${speaks}, against an average row` }), found.reasons.length
        ? make("ol", {}, ...found.reasons.map(({ text, column, contribution }) => make("li", { textContent: `${shown(text || column)} (${signed(contribution, 2)})` })))
        : make("p", { className: "soft", textContent: "Nothing." }));
      const { contributions } = found;
      byId("what-if-about").textContent = `${two ? "Log-odds" : "Score"} of ${shown(String(contributions.class))}`;
      const parts = [...contributions.features].filter((part) => part.contribution !== 0).sort((a, b) => Math.abs(b.contribution) - Math.abs(a.contribution));
      fallInto(byId("what-if-chart"), [{ label: "Every row", value: "", amount: contributions.intercept }, ...parts.map((part) => ({ label: shown(part.feature), value: part.level, amount: part.contribution }))]);
      showChanges(row);
    };
    // The smallest changes that give another class, looked for piece by piece, so that the page answers meanwhile.
    const showChanges = async (row) => {
      const own = ++asked, host = byId("what-if-changes"), fixed = new Set([...keeps].filter(([, keep]) => keep.checked).map(([name]) => name));
      let until = performance.now() + 10;
      const pause = async () => {
        if (performance.now() > until) {
          await new Promise((done) => setTimeout(done, 4));
          until = performance.now() + 10;
        }
        return own !== asked;
      };
      host.ariaBusy = "true";
      const options = await changes.find(scoring, movable, row, { fixed, pause });
      if (options === null || own !== asked) return;
      const titles = new Map(model.columns.map(({ name, title }) => [name, title ?? name]));
      const text = (option) => option.columns.map((c, k) => `${shown(titles.get(movable[c].name))}: ${shown(movable[c].labels[option.parts[k]])}`).join("; ");
      host.replaceChildren(options.length
        ? tableOf(["Change", "Probability", "Then"], options.map((option) => [text(option), percent(1 / (1 + Math.exp(-option.certainty))), shown(String(model.classes[option.class]))]))
        : make("p", { className: "soft", textContent: "No change of up to three columns gives another class." }));
      host.ariaBusy = "false";
    };
    const starts = more.rows.map((row) => [row.title, Object.fromEntries(row.contributions.filter((part) => fields.has(part.feature)).map((part) => [part.feature, part.value === "missing" ? "" : part.value]))]);
    const usual = Object.fromEntries(movable.map(({ name, values, usual: part }) => [name, part === null ? "" : values[part]]));
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
    const verdict = `Row ${row.row.toLocaleString("en")}: predicted ${shown(row.predicted)}${row.truth === null ? "" : `, in truth ${shown(row.truth)}`}. P(${shown(classes[j])}) is ${percent(row.probabilities[j])} (90% interval given the columns kept: ${percent(low)} to ${percent(high)}).`;
    const table = tableOf(["Feature", "Value", "Cell", "Nats"], fall.map((line) => [line.label, line.value, line.level ?? "", signed(line.amount, 6)]));
    rows.append(make("h3", { textContent: row.title }), make("p", { textContent: verdict }), host, make("details", { className: "more" }, make("summary", { textContent: "The numbers" }), table));
  }
  if (rows) page.tables(rows);
});
