// Scores rows by a model of bayesieve, in browsers and in Node, without any other file.
//
//     const { score, model } = require("./scoring.js");  // in pages: globalThis.scoring
//     score({ age: 41, purpose: "car" }, { reasons: 4 });
//
// A row gives a value for each of model.columns: numbers, BigInt, booleans, texts, Date objects, or null if missing.
// Dates and times are texts such as "2024-12-31T23:59:59.5+01:00", or milliseconds; durations "-2d 12:00:00.5", or
// milliseconds. What cannot be read counts as never seen in training; a missing column or an infinite number throws.
(() => {
  "use strict";

  const model = __MODEL__;

  // Probabilities in the order of model.classes, the likeliest class, the log odds of the positive of two classes, the
  // strongest reasons, and what features and columns contribute to the score of one class, in nats.
  function score(row, { reasons = 4 } = {}) {
    const lacking = model.columns.find(({ name }) => !Object.prototype.hasOwnProperty.call(row, name));
    if (lacking) throw new Error(`The row lacks the column '${lacking.name}', which the model needs; null is missing.`);
    const codes = codesOf(row);
    const lineOf = ({ readers: [one, two], grid }) => (grid ? grid[codes[one]][codes[two]] : codes[one]);
    const lines = model.terms.map(lineOf);
    const odds = [0, ...model.intercept]; // against the first class
    model.terms.forEach(({ cells }, k) => cells[lines[k]][1].forEach((own, j) => (odds[j + 1] += own)));
    const top = Math.max(...odds);
    const [best, shares] = [odds.indexOf(top), odds.map((own) => Math.exp(own - top))];
    const whole = shares.reduce(add, 0);
    const contributions = contributionsOf(row, codes, lines, best);
    const rank = ({ contribution }) => rounded(sign * contribution);
    const found = contributions.columns.filter((own) => rank(own) < 0).sort((one, two) => rank(one) - rank(two));
    return {
      probabilities: shares.map((share) => share / whole),
      predicted: model.classes[best],
      score: odds.length === 2 ? odds[model.positive] - odds[1 - model.positive] : null,
      reasons: reasons === null ? found : found.slice(0, reasons),
      contributions,
    };
  }

  function contributionsOf(row, codes, lines, best) {
    const at = model.reasons_against === null ? best : model.reasons_against;
    const ofClass = (odds) => ((odds.length + 1) * [0, ...odds][at] - odds.reduce(add, 0)) / odds.length;
    const sums = new Map(model.columns.map(({ name }) => [name, 0])); // less the reference
    const features = model.terms.map(({ feature, columns, cells, reference }, k) => {
      const [level, odds] = cells[lines[k]];
      const own = (sign * ofClass(odds) - reference[at]) / columns.length;
      columns.forEach((name) => sums.set(name, sums.get(name) + own));
      return { feature, level, cell: lines[k], contribution: ofClass(odds) };
    });
    const columns = model.columns.map(({ name, texts, reader }) => {
      const text = texts ? texts[reader < nOfTerms ? codes[reader] : codeOf(readers[reader], row)] : "";
      return { column: name, text, contribution: sign * sums.get(name) };
    });
    const intercept = ofClass(model.intercept);
    const total = features.reduce((sum, { contribution }) => sum + contribution, intercept);
    return { class: model.classes[at], intercept, features, total, columns };
  }

  const add = (sum, own) => sum + own;

  // The codes of the values that features are made of, in the order of model.readers.
  const codesOf = (row) => readers.slice(0, nOfTerms).map((reader) => codeOf(reader, row));

  // In units of the ninth decimal; halves to the even number, as in Python.
  function rounded(number) {
    const near = Math.round(number * 1e9);
    return near - number * 1e9 === 0.5 && near % 2 !== 0 ? near - 1 : near;
  }

  // The code of the value that a row has in a column.
  function codeOf({ column, kind, cuts, keys, first, missing, unseen, finite }, row) {
    if (kind === "text" || kind === "mixed") {
      const texts = textsOf(row[column], kind);
      const known = texts.find((text) => keys.has(text));
      return known !== undefined ? keys.get(known) : texts[texts.length - 1] ? unseen : missing;
    }
    const read = numberOf(row[column], kind, keys);
    if (Number.isNaN(read)) return missing;
    const number = cuts && typeof read === "bigint" ? Number(read) : read;
    if (keys.has(exact(number))) return keys.get(exact(number));
    if (!cuts || typeof number === "string") return unseen;
    const infinite = finite && Math.abs(number) === Infinity;
    if (infinite) throw new Error(`Column '${column}' contains infinity; give null, or a finite limit.`);
    return first + cuts.filter((cut) => cut < number).length;
  }

  const isMissing = (value) => value == null || Number.isNaN(value instanceof Date ? +value : value);

  // The number that a value stands for: NaN if it is missing, its text if that is a key or cannot be read.
  function numberOf(value, kind, keys) {
    if (isMissing(value)) return NaN;
    if (kind === "number" && ["number", "bigint", "boolean"].includes(typeof value)) return exact(value);
    const inTime = typeof value === "number" || (value instanceof Date && kind.startsWith("date")); // in milliseconds
    if (kind !== "number" && inTime) return kind === "date" ? value / 86400000 : Math.round(value * 1000);
    const text = strip(String(value));
    if (keys.has(text) || MISSING.test(text)) return keys.has(text) ? text : NaN;
    if (kind !== "number") return momentOf(text, kind);
    if (BOOLEANS.has(text)) return BOOLEANS.get(text);
    if (/^[+-]?\d+$/.test(text)) return exact(BigInt(text.replace("+", "")));
    return FLOAT.test(text) ? Number(text.replace(/inf(inity)?/i, "Infinity")) : text;
  }

  // Whole numbers beyond 2 ** 53 as BigInt, so that each is found among keys.
  function exact(value) {
    if (typeof value === "string" || !Number.isInteger(Number(value))) return value;
    return Number.isSafeInteger(Number(value)) ? Number(value) : BigInt(value);
  }

  // Dates as days since 1970-01-01; moments since then in UTC, times and durations as microseconds.
  function momentOf(text, kind) {
    const [, day, minus, days, hour, minute, second, fraction, zone] = MOMENT.exec(text) || [];
    const found = day ? "date datetime" : minus || days ? "duration" : hour ? "time duration" : "";
    const clock = `${(hour || "0").padStart(2, "0")}:${minute || "00"}:${second || "00"}`;
    const start = new Date(`${day || "1970-01-01"}T${clock}Z`);
    const real = !Number.isNaN(+start) && !(hour >= 24) && (!day || start.toISOString().startsWith(day));
    if (!found.split(" ").includes(kind) || !real || day < "0001") return text;
    const away = day && zone && zone !== "Z" ? Number(zone[0] + "1") * (zone.slice(1, 3) * 60 + +zone.slice(-2)) : 0;
    const seconds = +start / 1000 + Number(days || 0) * 86400 - away * 60;
    const micros = BigInt(seconds) * 1000000n + BigInt((fraction || "").padEnd(6, "0").slice(0, 6));
    return kind === "date" ? Number(micros) / 86400000000 : Number(minus ? -micros : micros);
  }

  // The texts by which a value may be known, the best first; the last is null if it is missing, or "" if blank.
  function textsOf(value, kind) {
    if (isMissing(value)) return [null];
    if (typeof value === "boolean") return value ? ["True", "true", "TRUE", "1"] : ["False", "false", "FALSE", "0"];
    if (typeof value === "bigint") return [String(value), ...textsOf(Number(value), kind).slice(1)];
    if (typeof value === "number") {
      const whole = Number.isInteger(value) && Math.abs(value) < 2 ** 64 ? String(BigInt(value)) : asPython(value);
      return [whole, asPython(value), value === 0 ? "False" : value === 1 ? "True" : whole];
    }
    const text = String(value);
    const number = kind === "mixed" ? numberOf(text, "number", new Map()) : text;
    return [text, ...(typeof number === "string" || Number.isNaN(number) ? [] : textsOf(number, kind)), strip(text)];
  }

  // The text that Python has for a float.
  function asPython(number) {
    const plain = number === 0 || (Math.abs(number) < 1e16 && Math.abs(number) >= 1e-4);
    if (plain) return Number.isInteger(number) ? `${number}.0` : String(number);
    return number.toExponential().replace(/e([+-])(\d)$/, (_, sign, digit) => `e${sign}0${digit}`);
  }

  const BLANKS = "[\\t-\\r\\x1c- \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]+"; // of Python
  const strip = (text) => text.replace(new RegExp(`^${BLANKS}|${BLANKS}$`, "g"), "");
  const MISSING =
    /^(|[?.-]|NA|N\/A|n\/a|na|#N\/A|#NA|<NA>|NaN|nan|NAN|-nan|-NaN|null|NULL|Null|None|none|NONE)$/;
  const BOOLEANS = new Map(["true", "True", "TRUE", "false", "False", "FALSE"].map((text, i) => [text, i < 3]));
  const DAYS = String.raw`(?:(\d{4}-\d\d-\d\d)(?:$|[T ](?=\d))|(-?)(?:(\d+)d ?)?)`; // or sign and days
  const CLOCK = String.raw`(?:(\d\d?(?=:)|\d\d)(?::(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?)?(?: ?(Z|[+-]\d\d:?\d\d))?)?`;
  const FLOAT = /^[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf|infinity|nan)$/i;
  const MOMENT = new RegExp(`^${DAYS}${CLOCK}$`);
  const keysOf = (values) => new Map(values.flatMap((own, code) => own.map((key) => [exact(key), code])));
  const readers = model.readers.map((reader) => ({ ...reader, keys: keysOf(reader.values) }));
  const nOfTerms = 1 + Math.max(-1, ...model.terms.flatMap((term) => term.readers)); // the others are of texts alone
  const sign = model.reasons_against === null ? -1 : 1; // reasons speak for the predicted class, or against one

  globalThis.scoring = { score, codes: codesOf, model };
  if (typeof module === "object") module.exports = { score, model };
})();
