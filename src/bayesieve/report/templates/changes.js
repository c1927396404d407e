// The smallest changes of a row that give another class, as `counterfactuals` finds them: those of the fewest columns,
// then over the fewest parts, then the surest, then of the first columns and parts. A column never becomes missing.
const changes = (() => {
  const BEYOND = 1e-9; // nats by which a decision must change, so that rounding cannot turn it back
  const add = (one, two) => one.map((value, i) => value + two[i]);
  const less = (one, two) => one.map((value, i) => value - two[i]);
  const most = (vectors, n) => vectors.reduce((top, vector) => top.map((value, i) => Math.max(value, vector[i])), Array(n).fill(0));
  const compare = (one, two) => {
    for (const name of ["cost", "steps", "doubt"]) if (one[name] !== two[name]) return one[name] - two[name];
    for (const name of ["columns", "parts"]) for (const [i, value] of one[name].entries()) if (value !== two[name][i]) return value - two[name][i];
    return 0;
  };
  // The codes that the model reads from each part of each column.
  const prepared = ({ model, codes }, columns) => {
    const empty = Object.fromEntries(model.columns.map(({ name }) => [name, null])), n = codes(empty).length;
    return columns.map((column) => {
      const at = model.readers.slice(0, n).flatMap((reader, i) => (reader.column === column.name ? [i] : []));
      return { ...column, at, codes: column.values.map((value) => { const own = codes({ ...empty, [column.name]: value }); return at.map((i) => own[i]); }) };
    });
  };
  // The part of each column that a row is in, -1 for values that are missing, special or were never seen.
  const partsOf = (scoring, columns, row) => {
    const own = scoring.codes(row);
    return columns.map(({ at, codes }) => codes.findIndex((part) => part.every((code, i) => code === own[at[i]])));
  };
  const sets = function* (n, k, from = 0) {
    if (k === 0) yield [];
    else for (let first = from; first < n; first++) for (const rest of sets(n, k - 1, first + 1)) yield [first, ...rest];
  };
  // Options of a row, at most `n`, by at most `mostChanges` of the columns that are not fixed; `pause` is awaited now and then.
  const find = async (scoring, columns, row, { fixed, n = 5, mostChanges = 3, pause }) => {
    const { model } = scoring, start = scoring.codes(row), own = partsOf(scoring, columns, row), nClasses = model.classes.length;
    // Odds of all classes against the first, in nats, after moves of columns to parts.
    const odds = (moves) => {
      const codes = [...start];
      for (const [c, part] of moves) columns[c].at.forEach((i, k) => (codes[i] = columns[c].codes[part][k]));
      const sums = [0, ...model.intercept];
      for (const { readers: [one, two], grid, cells } of model.terms) cells[grid ? grid[codes[one]][codes[two]] : codes[one]][1].forEach((value, j) => (sums[j + 1] += value));
      return sums;
    };
    const base = odds([]), free = columns.flatMap((column, c) => (fixed.has(column.name) || !column.values.length ? [] : [c]));
    const moves = new Map(free.map((c) => [c, columns[c].values.flatMap((_, part) => (part === own[c] ? [] : [{ part, steps: columns[c].ordered && own[c] >= 0 ? Math.abs(part - own[c]) : 1, gain: less(odds([[c, part]]), base) }]))]));
    // What two columns of a pair add beyond the sum of both.
    const together = new Map();
    for (const { readers, grid } of model.terms) {
      const pair = grid ? readers.map((i) => free.find((c) => columns[c].at.includes(i))).sort((a, b) => a - b) : [];
      if (pair.length < 2 || pair.includes(undefined) || pair[0] === pair[1] || together.has(String(pair))) continue;
      const [a, b] = pair;
      together.set(String(pair), moves.get(a).map((one) => moves.get(b).map((two) => less(less(less(odds([[a, one.part], [b, two.part]]), base), one.gain), two.gain))));
      if (await pause()) return null;
    }
    const marginsOf = (sums, j) => sums.flatMap((value, i) => (i === j ? [] : [sums[j] - value]));
    const best = base.indexOf(Math.max(...base)), options = [];
    for (let j = 0; j < nClasses; j++) {
      if (j === best) continue;
      const gainOf = (sums) => marginsOf(sums, j), need = gainOf(base).map((margin) => BEYOND / 2 - margin);
      const reach = new Map(free.map((c) => [c, most(moves.get(c).map((move) => gainOf(move.gain)), nClasses - 1)]));
      const reachTogether = new Map([...together].map(([pair, grid]) => [pair, most(grid.flat().map(gainOf), nClasses - 1)]));
      let found = [];
      for (let k = 1; k <= Math.min(mostChanges, free.length) && found.length < n; k++) {
        const bySize = [];
        for (const places of sets(free.length, k)) {
          if (await pause()) return null;
          const set = places.map((place) => free[place]);
          const inside = set.flatMap((a, i) => set.slice(i + 1).map((b) => `${a},${b}`)).filter((pair) => together.has(pair));
          let top = set.reduce((sum, c) => add(sum, reach.get(c)), Array(nClasses - 1).fill(0));
          for (const pair of inside) top = add(top, reachTogether.get(pair));
          if (top.some((value, i) => value < need[i]) || found.some((option) => option.columns.every((c) => set.includes(c)))) continue;
          const limit = bySize[n - found.length - 1]?.steps ?? Infinity;
          const option = bestOf(set, inside, j, gainOf, reach, reachTogether, need, limit);
          if (option) bySize.splice(bySize.findLastIndex((one) => compare(one, option) < 0) + 1, 0, option);
        }
        found = [...found, ...bySize].slice(0, n);
      }
      options.push(...found);
    }
    return options.sort(compare).slice(0, n);

    // The best moves of all columns of a set, over no more parts than the limit; null for none.
    function bestOf(set, inside, j, gainOf, reach, reachTogether, need, limit) {
      let option = null;
      // Of each column the moves that can be enough with the most that the others add.
      const kept = set.map((c) => {
        let rest = set.reduce((sum, other) => (other === c ? sum : add(sum, reach.get(other))), Array(nClasses - 1).fill(0));
        for (const pair of inside) rest = add(rest, reachTogether.get(pair));
        return moves.get(c).map((move, at) => ({ ...move, at })).filter((move) => gainOf(move.gain).every((value, i) => value + rest[i] >= need[i])).sort((a, b) => a.steps - b.steps);
      });
      const visit = (depth, chosen, steps, sums) => {
        if (depth === set.length) {
          for (const pair of inside) {
            const [a, b] = pair.split(",").map((c) => chosen[set.indexOf(Number(c))]);
            sums = add(sums, together.get(pair)[a.at][b.at]);
          }
          const margins = marginsOf(sums, j);
          if (Math.min(...margins) < BEYOND) return;
          const least = Math.min(...margins), certainty = least - Math.log(margins.reduce((sum, margin) => sum + Math.exp(least - margin), 0));
          const one = { cost: set.length, steps, doubt: Math.round(-certainty * 1e9) / 1e9, columns: set, parts: chosen.map(({ part }) => part), certainty, class: j };
          if (!option || compare(one, option) < 0) option = one;
          return;
        }
        for (const move of kept[depth]) {
          if (steps + move.steps + (set.length - depth - 1) > Math.min(limit, option?.steps ?? Infinity)) break;
          visit(depth + 1, [...chosen, move], steps + move.steps, add(sums, move.gain));
        }
      };
      visit(0, [], 0, base);
      return option;
    }
  };
  return { find, partsOf, prepared };
})();
