// The explorer: one page, no network. Data come packed in the page; every number is computed here, by the formulas of
// howsure.stats.means, from the attempts that the filters leave. A test compares them with Python's to a relative 1e-9.

// ---------------------------------------------------------------------------------------------- unpacking

const content = JSON.parse(document.getElementById("content").textContent);

const unpacked = async (text) => {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
};

const KINDS = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f64: Float64Array };

// A column has one value per attempt or per item: a number, or the place of a text in `values` (place 0: missing).
const columnOf = (buffer, told) => {
  const array = new KINDS[told.type](buffer, told.offset, told.length);
  return {
    ...told,
    array,
    isNumber: !told.values,
    at: told.of === "item" ? (row) => array[data.item[row]] : (row) => array[row],
  };
};

const data = {};

// ---------------------------------------------------------------------------------------------- statistics

const sum = (array) => { let total = 0; for (let i = 0; i < array.length; i++) total += array[i]; return total; };
const sumOf = (array, f) => { let total = 0; for (let i = 0; i < array.length; i++) total += f(array[i], i); return total; };
const largest = (array) => { let most = -Infinity; for (let i = 0; i < array.length; i++) if (array[i] > most) most = array[i]; return most; };

// Labels as 0, 1, …
const dense = (labels) => {
  const seen = new Map();
  const codes = new Int32Array(labels.length);
  labels.forEach((label, i) => {
    if (!seen.has(label)) seen.set(label, seen.size);
    codes[i] = seen.get(label);
  });
  return { codes, n: seen.size };
};

const binned = (codes, n, f) => {
  const totals = new Float64Array(n);
  for (let i = 0; i < codes.length; i++) totals[codes[i]] += f(i);
  return totals;
};

// Quantiles of t: a polynomial through its logarithm at the Chebyshev points of 1/df, which the page brings for each level.
const tQuantile = (level, df) => {
  const { points, logs } = content.quantiles[level];
  const x = 1 / df;
  let top = 0, bottom = 0;
  for (let k = 0; k < points.length; k++) {
    const gap = x - points[k];
    if (gap === 0) return Math.exp(logs[k]);
    const weight = (k % 2 ? -1 : 1) * (k === 0 || k === points.length - 1 ? 0.5 : 1) / gap;
    top += weight * logs[k];
    bottom += weight;
  }
  return Math.exp(top / bottom);
};
const normalQuantile = (level) => content.quantiles[level].normal;

// Probability that a t variable is below t: the incomplete beta function by its continued fraction (Lentz).
const logGamma = (x) => {
  let shift = 0;
  while (x < 15) { shift += Math.log(x); x += 1; }
  const square = 1 / (x * x);
  const series = (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188)))) / x;
  return (x - 0.5) * Math.log(x) - x + 0.5 * Math.log(2 * Math.PI) + series - shift;
};
const betaFraction = (a, b, x) => {
  const tiny = 1e-300;
  let c = 1, d = 1 - (a + b) * x / (a + 1);
  d = 1 / (Math.abs(d) < tiny ? tiny : d);
  let f = d;
  for (let m = 1; m < 10000; m++) {
    for (const step of [m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)), -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))]) {
      d = 1 + step * d;
      d = 1 / (Math.abs(d) < tiny ? tiny : d);
      c = 1 + step / c;
      if (Math.abs(c) < tiny) c = tiny;
      f *= c * d;
    }
    if (Math.abs(c * d - 1) < 1e-15) break;
  }
  return f;
};
const beta = (a, b, x) => {
  if (x <= 0 || x >= 1) return x <= 0 ? 0 : 1;
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x));
  return x < (a + 1) / (a + b + 2) ? front * betaFraction(a, b, x) / a : 1 - front * betaFraction(b, a, 1 - x) / b;
};
const tBelow = (t, df) => {
  const tail = beta(df / 2, 0.5, df / (df + t * t)) / 2;
  return t > 0 ? 1 - tail : tail;
};

// What a mean over clusters depends on: howsure.stats.means._Sample, step by step.
const dfOfSpread = (deviations) => {
  const squares = sumOf(deviations, (d) => d * d), fourths = sumOf(deviations, (d) => d ** 4);
  const kurtosis = deviations.length * fourths / squares ** 2;
  return 2 * (deviations.length - 1) / Math.max(kurtosis - 1, 1e-9) + 2;
};

const skewnessOf = (pulls) => sumOf(pulls, (p) => p ** 3) / sumOf(pulls, (p) => p * p) ** 1.5;
// Hall's (1992) correction of a t statistic for skewness, and its inverse.
const hallStatistic = (t, g) => t + g * t ** 2 / 3 + g ** 2 * t ** 3 / 27 + g / 6;
const hallQuantile = (q, g) => (Math.abs(g) > 1e-6 ? 3 / g * (Math.cbrt(1 + g * (q - g / 6)) - 1) : q);

const plainSample = (totals, counts, isBounded) => {
  const n = sum(counts), g = counts.length;
  if (g < 2) {
    const lack = g ? "1 cluster; an interval needs 2" : "no item; a mean needs 1, an interval 2";
    return { totals, counts, value: g ? sum(totals) / n : null, se: 0, df: 1, lack };
  }
  const value = sum(totals) / n;
  const deviations = totals.map((t, c) => t - counts[c] * value);
  const se = Math.sqrt(sumOf(deviations, (d) => d * d) * g / (g - 1)) / n;
  const isSpread = se > 1e-13 * largest(totals.map((t, c) => Math.abs(t / counts[c])));
  let df = Math.max(n ** 2 / sumOf(counts, (c) => c * c) - 1, 1);
  if (isSpread && isBounded) df = Math.min(df, dfOfSpread(deviations));
  const skewness = isSpread && !isBounded ? skewnessOf(deviations) : 0;
  return { totals, counts, value, se: isSpread ? se : 0, df, lack: "", skewness };
};

const sampleOf = (values, clusterLabels, stratumLabels, bounds) => {
  const n = values.length;
  if (!n) return plainSample(new Float64Array(0), new Float64Array(0), false);
  const { codes: cluster, n: nAll } = dense(clusterLabels);
  const { codes: stratum, n: d } = dense(stratumLabels);
  const inStratum = binned(stratum, d, () => 1);
  const isEven = inStratum.every((one) => Math.abs(n / d / one - 1) <= 1e-12);
  const weight = Float64Array.from(stratum, (s) => (isEven ? 1 : n / d / inStratum[s]));
  const totals = binned(cluster, nAll, (i) => weight[i] * values[i]);
  const counts = binned(cluster, nAll, (i) => weight[i]);
  const { codes: cell, n: nCells } = dense(Array.from(stratum, (s, i) => s * nAll + cluster[i]));
  const cellStratum = new Int32Array(nCells);
  cell.forEach((c, i) => { cellStratum[c] = stratum[i]; });
  const nClusters = binned(cellStratum, d, () => 1);
  const plain = plainSample(totals, counts, bounds !== null);
  if (d === 1 || largest(nClusters) === 1) return plain;
  const few = nClusters.filter((one) => one === 1).length;
  if (few) return { ...plain, lack: `1 cluster in ${few} of ${d} evals; an interval needs 2 in each` };
  const means = binned(stratum, d, (i) => weight[i] * values[i]).map((t) => t * d / n);
  const pull = Float64Array.from(values, (v, i) => {
    const s = stratum[i];
    return weight[i] * (v - means[s]) * Math.sqrt(nClusters[s] / (nClusters[s] - 1));
  });
  const pulls = binned(cluster, nAll, (i) => pull[i]);
  const se = Math.sqrt(sumOf(pulls, (p) => p * p)) / n;
  const size = binned(cell, nCells, (i) => weight[i]);
  const sizes = binned(cellStratum, d, (c) => size[c]), sizes2 = binned(cellStratum, d, (c) => size[c] ** 2);
  const dfStratum = sizes.map((one, s) => one ** 2 / sizes2[s] - 1);
  const cellPull = binned(cell, nCells, (i) => pull[i]);
  const variance = binned(cellStratum, d, (c) => cellPull[c] ** 2);
  const widest = largest(values.map(Math.abs));
  let joint;
  if (se <= 1e-13 * widest) {
    plain.se = 0;
    plain.skewness = 0;
    joint = sumOf(counts, (c) => c * c) / sumOf(size, (c) => c * c);
  } else {
    let df = sum(variance) ** 2 / sumOf(variance, (v, s) => v ** 2 / Math.max(dfStratum[s], 1));
    if (bounds) df = Math.min(df, dfOfSpread(pulls));
    plain.se = se;
    if (!bounds) plain.skewness = skewnessOf(pulls);
    plain.df = Math.max(Math.min(df, plain.df), 1);
    joint = (se * n) ** 2 / sum(variance);
  }
  if (!bounds) return plain;
  const middle = (bounds[0] + bounds[1]) / 2;
  const isSingle = nClusters.map((one, s) => Number(one === inStratum[s]));
  const others = binned(stratum, d, (i) => Number(values[i] !== bounds[0] && values[i] !== middle && values[i] !== bounds[1]));
  const isShort = variance.map((v, s) => Number((isSingle[s] && others[s] === 0) || v <= (1e-13 * n * widest) ** 2));
  const extra = isShort.map((short, s) => (short ? n / d / nClusters[s] : 0));
  const smoothed = means.map((m, s) => (m * n / d + extra[s] * middle) / (n / d + extra[s]));
  const cellTotals = binned(cell, nCells, (i) => weight[i] * values[i]);
  const squares = binned(cellStratum, d, (c) => (cellTotals[c] - size[c] * smoothed[cellStratum[c]]) ** 2).map((q, s) => {
    const added = bounds.map((end) => (end - smoothed[s]) ** 2 * extra[s] ** 2 / 2);
    return (q + added[0] + added[1]) * (isShort[s] ? 1 : nClusters[s] / (nClusters[s] - 1));
  });
  const df = sum(squares) ** 2 / sumOf(squares, (q, s) => q ** 2 / Math.max(dfStratum[s] + isShort[s], 1));
  const isBinary = isSingle.every(Boolean) && values.every((v) => v === bounds[0] || v === bounds[1]);
  const smooth = { value: sum(smoothed) / d, se: Math.sqrt(sum(squares) * Math.max(joint, 1)) / n, df, isBinary };
  return { ...plain, smooth };
};

const scoreBounds = (share, n, quantile) => {
  const stretch = quantile ** 2 / n;
  const centre = share + stretch / 2, reach = Math.sqrt(stretch * (share * (1 - share) + stretch / 4));
  return [Math.min(Math.max((centre - reach) / (1 + stretch), 0), share), Math.max(Math.min((centre + reach) / (1 + stretch), 1), share)];
};

const boundedEnds = (sample, level, [low, high]) => {
  const width = high - low;
  const share = Math.min(Math.max((sample.value - low) / width, 0), 1), se = sample.se / width;
  const g = sample.counts.length;
  const isBinary = sample.counts.every((c) => c === 1) && sample.totals.every((t) => t === low || t === high);
  let nEffective = g, quantile = normalQuantile(level);
  if (sample.smooth) {
    const expected = (sample.smooth.value - low) / width;
    nEffective = expected * (1 - expected) * (width / sample.smooth.se) ** 2;
    if (!sample.smooth.isBinary) quantile = tQuantile(level, sample.smooth.df);
  } else if (se && share !== 0 && share !== 1 && !isBinary) {
    nEffective = share * (1 - share) / se ** 2;
    quantile = tQuantile(level, sample.df);
  }
  let [below, above] = scoreBounds(share, nEffective, quantile);
  if (!sample.smooth && isBinary) {
    const few = g > 50 ? 3 : 2, hits = Math.round(share * g), { poisson } = content.quantiles[level];
    if (hits > 0 && hits <= few) below = Math.min(below, poisson[hits - 1] / g);
    if (g - hits > 0 && g - hits <= few) above = Math.max(above, 1 - poisson[g - hits - 1] / g);
  }
  return [low + width * below, low + width * above];
};

const estimate = (sample, ends) => {
  const told = { value: sample.value, low: null, high: null, state: "ok", reason: "", nClusters: sample.counts.length };
  if (sample.lack) return { ...told, state: "too few", reason: sample.lack };
  if (!ends) return { ...told, state: "undefined", reason: "all clusters agree" };
  return { ...told, low: ends[0], high: ends[1] };
};

const around = (sample, level) => {
  const { se, df } = sample.smooth ?? sample;
  if (!se) return null;
  const quantile = tQuantile(level, df), skewness = sample.skewness ?? 0;
  const [low, high] = [quantile, -quantile].map((q) => sample.value - se * hallQuantile(q, skewness));
  return [Math.min(low, sample.value), Math.max(high, sample.value)];
};

const meanOf = (values, clusters, strata, level, bounds) => {
  const sample = sampleOf(values, clusters, strata, bounds);
  return estimate(sample, sample.lack ? null : bounds ? boundedEnds(sample, level, bounds) : around(sample, level));
};

const pairedDifference = (a, b, clusters, strata, level, bounds) => {
  const width = bounds && bounds[1] - bounds[0];
  const sample = sampleOf(a.map((x, i) => x - b[i]), clusters, strata, bounds && [-width, width]);
  if (sample.lack) return { ...estimate(sample, null), pGreater: null };
  let ends = around(sample, level);
  if (bounds && ends) ends = [Math.max(ends[0], -width), Math.min(ends[1], width)];
  else if (bounds) {
    const unseen = 1 - (1 - level) ** (1 / sample.counts.length);
    ends = [sample.value - unseen * (sample.value + width), sample.value + unseen * (width - sample.value)];
  }
  const { se, df } = sample.smooth ?? sample;
  const pGreater = se ? tBelow(hallStatistic(sample.value / se, sample.skewness ?? 0), df) : sample.value ? null : 0.5;
  return { ...estimate(sample, ends), pGreater };
};

// ---------------------------------------------------------------------------------------------- what is asked of the data

const state = {
  filters: new Map(), // column → a Set of places, or [least, most]
  search: "",
  cluster: content.cluster,
  level: content.level,
  a: 0,
  b: 1,
  itemOrder: "difficulty",
  modelOrder: "mean",
  flips: "both",
  page: { items: 0, flips: 0 },
  sort: { key: "success", sign: 1 },
  view: { from: 0, to: 1 },
  cursor: { model: 0, item: 0 },
  item: null,
};

let found = null; // what the filters leave: see `select`

const select = () => {
  const nRows = data.score.length, nItems = content.n_items, nModels = content.models.length;
  const tests = [];
  for (const [column, wanted] of state.filters) {
    const { at } = column;
    if (wanted instanceof Set) tests.push((row) => wanted.has(at(row)));
    else tests.push((row) => { const x = at(row); return x >= wanted[0] && x <= wanted[1]; });
  }
  if (state.search) {
    const words = state.search.toLowerCase();
    const fits = content.tasks.map((name) => name.toLowerCase().includes(words));
    tests.push((row) => fits[data.item[row]]);
  }
  const isKept = new Uint8Array(nRows);
  const nCells = content.n_cells; // combinations of the factors that are averaged over
  const sums = new Float64Array(nModels * nItems * nCells), counts = new Float64Array(nModels * nItems);
  const cellCounts = nCells > 1 ? new Float64Array(nModels * nItems * nCells) : counts;
  const used = new Map(data.measures.map(({ name }) => [name, { sums: new Float64Array(nModels * nItems), counts: new Float64Array(nModels * nItems) }]));
  let n = 0;
  for (let row = 0; row < nRows; row++) {
    if (!tests.every((test) => test(row))) continue;
    const cell = data.model[row] * nItems + data.item[row], times = data.n ? data.n.array[row] : 1;
    isKept[row] = 1;
    n += times;
    const own = data.cell ? cell * nCells + data.cell[row] : cell;
    sums[own] += data.score[row] * times;
    counts[cell] += times;
    if (data.cell) cellCounts[own] += times;
    for (const { name, at } of data.measures) {
      const x = at(row), held = used.get(name);
      if (x === x) { held.sums[cell] += x * times; held.counts[cell] += times; }
    }
  }
  const models = content.models.map((_, m) => m).filter((m) => {
    for (let i = m * nItems; i < (m + 1) * nItems; i++) if (counts[i]) return true;
    return false;
  });
  found = { isKept, sums, counts, cellCounts, used, n, models, clusters: new Map(), evals: new Map() };
  found.cells = data.cell ? sharedCells(models) : null;
  found.means = new Map(models.map((m) => [m, modelMean(m, models)]));
};

// The cells of each eval that all of its models have; null where an eval has none, so that each model has its own.
const sharedCells = (models) => {
  const nItems = content.n_items, nCells = content.n_cells, shared = new Map();
  for (const m of models) {
    const own = new Map();
    for (let i = 0; i < nItems; i++) {
      for (let c = 0; c < nCells; c++) {
        if (!found.cellCounts[(m * nItems + i) * nCells + c]) continue;
        if (!own.has(data.eval[i])) own.set(data.eval[i], new Set());
        own.get(data.eval[i]).add(c);
      }
    }
    for (const [one, cells] of own) shared.set(one, shared.has(one) ? new Set([...shared.get(one)].filter((c) => cells.has(c))) : cells);
  }
  return [...shared.values()].every((cells) => cells.size) ? shared : null;
};

// The mean of the cells of an item that count for one model, or that two have; NaN where there is none.
const cellsAt = (model, item) => {
  const nCells = content.n_cells, first = (model * content.n_items + item) * nCells, there = [];
  for (let c = 0; c < nCells; c++) if (found.cellCounts[first + c]) there.push(c);
  return there;
};
const meanOver = (model, item, cells) => {
  const first = (model * content.n_items + item) * content.n_cells;
  return cells.length ? sumOf(cells, (c) => found.sums[first + c] / found.cellCounts[first + c]) / cells.length : NaN;
};
const scoreAt = (model, item) => {
  const place = model * content.n_items + item;
  if (!data.cell) return found.counts[place] ? found.sums[place] / found.counts[place] : NaN;
  const shared = found.cells?.get(data.eval[item]);
  return meanOver(model, item, shared ? cellsAt(model, item).filter((c) => shared.has(c)) : cellsAt(model, item));
};
const isTried = (model, item) => (data.cell ? scoreAt(model, item) === scoreAt(model, item) : found.counts[model * content.n_items + item] > 0);
const cellsOfBoth = (a, b, item) => { const other = new Set(cellsAt(b, item)); return cellsAt(a, item).filter((c) => other.has(c)); };

// The evals that all of these models tried; where there is one eval only, that one.
const sharedEvals = (models) => {
  const key = models.join();
  if (!found.evals.has(key)) found.evals.set(key, evalsOf(models));
  return found.evals.get(key);
};
const evalsOf = (models) => {
  const tried = new Map();
  for (const m of models) {
    for (let i = 0; i < content.n_items; i++) {
      if (!found.counts[m * content.n_items + i]) continue;
      const one = data.eval[i];
      if (!tried.has(one)) tried.set(one, new Set());
      tried.get(one).add(m);
    }
  }
  if (tried.size < 2) return { kept: new Set(tried.keys()), excluded: [] };
  const kept = [...tried].filter(([, by]) => by.size === models.length).map(([one]) => one);
  return { kept: new Set(kept), excluded: [...tried.keys()].filter((one) => !kept.includes(one)) };
};

// The cluster of each item. Items with equal content, and the clusters that they are in, are one cluster.
const clustersOf = (models) => {
  const key = `${state.cluster}:${models.join()}`;
  if (found.clusters.has(key)) return found.clusters.get(key);
  const nItems = content.n_items, own = data.clusters[state.cluster];
  let labels = own;
  if (data.digest) {
    const asked = new Set(models), parent = new Map();
    const root = (x) => { while (parent.has(x) && parent.get(x) !== x) x = parent.get(x); return x; };
    const first = new Map();
    for (let row = 0; row < data.score.length; row++) {
      const digest = data.digest.at(row);
      if (!found.isKept[row] || !digest || !asked.has(data.model[row])) continue;
      const cluster = own[data.item[row]];
      if (!first.has(digest)) { first.set(digest, cluster); continue; }
      const [x, y] = [root(first.get(digest)), root(cluster)];
      if (x !== y) parent.set(Math.max(x, y), Math.min(x, y));
    }
    if (parent.size) labels = Int32Array.from({ length: nItems }, (_, i) => root(own[i]));
  }
  found.clusters.set(key, labels);
  return labels;
};

const gathered = (models, wanted, valueAt) => {
  const { kept, excluded } = sharedEvals(models);
  const clusters = clustersOf(models);
  const values = [], labels = [], strata = [];
  for (let i = 0; i < content.n_items; i++) {
    if (!kept.has(data.eval[i]) || !wanted(i)) continue;
    values.push(valueAt(i));
    labels.push(clusters[i]);
    strata.push(data.eval[i]);
  }
  return { values, labels, strata, excluded };
};

const modelMean = (model, models) => {
  const tried = (i) => isTried(model, i);
  const { values, labels, strata, excluded } = gathered(models, tried, (i) => scoreAt(model, i));
  return { ...meanOf(values, labels, strata, state.level, content.bounds), nItems: values.length, excluded };
};

const measureMean = (model, name) => {
  const { sums, counts } = found.used.get(name);
  const at = (i) => model * content.n_items + i;
  const { values, labels, strata } = gathered(found.models, (i) => counts[at(i)] > 0, (i) => sums[at(i)] / counts[at(i)]);
  return { ...meanOf(values, labels, strata, state.level, null), total: sum(sums.subarray(at(0), at(content.n_items))) };
};

// The ratio of two means over clusters, with an interval on the log scale: howsure.evals.costs.ratio.
const costPerSuccess = (model) => {
  const { sums, counts } = found.used.get("cost"), at = (i) => model * content.n_items + i;
  const { values: items, labels } = gathered(found.models, (i) => found.counts[at(i)] > 0, (i) => i);
  const nothing = { value: null, low: null, high: null, state: "undefined", reason: "not all attempts have a cost" };
  if (!items.length || items.some((i) => !counts[at(i)])) return nothing;
  const cost = items.map((i) => sums[at(i)] / counts[at(i)]), score = items.map((i) => scoreAt(model, i));
  if (!(sum(score) > 0)) return { ...nothing, state: "unbounded", reason: "no success" };
  const value = sum(cost) / sum(score), { codes, n } = dense(labels);
  if (n < 2 || !value) return { ...nothing, value, state: "too few", reason: "1 cluster; an interval needs 2" };
  const pulls = binned(codes, n, (i) => cost[i] - value * score[i]);
  const reach = Math.exp(tQuantile(state.level, n - 1) * Math.sqrt(n / (n - 1) * sumOf(pulls, (p) => p * p)) / sum(cost));
  return { ...nothing, value, low: value / reach, high: value * reach, state: "ok", reason: "" };
};

const pairOf = (a, b) => {
  let both = (i) => isTried(a, i) && isTried(b, i);
  const items_ = content.n_items, isPaired = data.cell && (found.cells || Array.from({ length: items_ }, (_, i) => i).some((i) => cellsOfBoth(a, b, i).length));
  if (isPaired) both = (i) => cellsOfBoth(a, b, i).length > 0;
  const { values: items, labels, strata, excluded } = gathered([a, b], both, (i) => i);
  const at = (model, i) => (isPaired ? meanOver(model, i, cellsOfBoth(a, b, i)) : scoreAt(model, i));
  const x = items.map((i) => at(a, i)), y = items.map((i) => at(b, i));
  const half = content.bounds ? (content.bounds[0] + content.bounds[1]) / 2 : NaN;
  const table = { both: 0, onlyA: 0, onlyB: 0, neither: 0 };
  const flips = [];
  items.forEach((i, k) => {
    const won = x[k] > half, lost = y[k] > half;
    table[won ? (lost ? "both" : "onlyA") : lost ? "onlyB" : "neither"] += 1;
    if (won !== lost) flips.push({ item: i, by: won ? "a" : "b", x: x[k], y: y[k] });
  });
  flips.sort((one, other) => (one.by === other.by ? Math.abs(other.x - other.y) - Math.abs(one.x - one.y) : one.by < other.by ? -1 : 1));
  const difference = items.length < 2
    ? { value: null, low: null, high: null, state: "too few", reason: `${items.length} shared items; a difference needs 2`, pGreater: null, nClusters: items.length }
    : pairedDifference(x, y, labels, strata, state.level, content.bounds);
  return { ...difference, nItems: items.length, table, flips, excluded };
};

const itemRows = () => {
  const rows = [];
  for (let i = 0; i < content.n_items; i++) {
    let total = 0, nModels = 0, least = Infinity, most = -Infinity;
    for (const m of found.models) {
      const x = scoreAt(m, i);
      if (x !== x) continue;
      total += x;
      nModels += 1;
      least = Math.min(least, x);
      most = Math.max(most, x);
    }
    if (!nModels) continue;
    const a = scoreAt(state.a, i), b = scoreAt(state.b, i);
    const solved = !content.bounds ? "" : most <= content.bounds[0] ? "never" : least >= content.bounds[1] ? "always" : "sometimes";
    rows.push({ item: i, name: content.tasks[i], eval: content.evals[data.eval[i]], success: total / nModels, nModels, a, b, difference: a - b, solved });
  }
  return rows;
};

// ---------------------------------------------------------------------------------------------- small tools for the page

const $ = (id) => document.getElementById(id);

const element = (tag, properties = {}, ...inside) => {
  const { dataset, aria, ...others } = properties;
  const made = Object.assign(document.createElement(tag), others);
  for (const [name, value] of Object.entries(aria ?? {})) made.setAttribute(`aria-${name}`, value);
  made.append(...inside.flat().filter((one) => one !== null && one !== undefined));
  return made;
};

// a number half-way between two is rounded to the even one, as in the tables: 0.625 → 0.62
const fixed = (x, digits) => {
  const scaled = x * 10 ** digits, low = Math.floor(scaled);
  return scaled - low === 0.5 && Number.isInteger(x * 2 ** (digits + 1)) ? ((low % 2 ? low + 1 : low) / 10 ** digits).toFixed(digits) : x.toFixed(digits);
};
const number = (x, digits = 3) => (x === null || x === undefined || x !== x ? "–" : fixed(x, digits).replace(/^-(?=[0.]*$)/, "").replace("-", "−"));
const count = (n) => String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ",");
const short = (x) => (x === null || x === undefined || x !== x ? "–" : Math.abs(x) >= 1000 ? count(x) : String(Number(x.toPrecision(3))));

// As many decimals as make the interval at least eight steps wide.
const digitsFor = (e) => (e.low === null || e.high === e.low ? 3 : Math.min(Math.max(0, Math.ceil(-Math.log10((e.high - e.low) / 8))), 6));
const interval = (e, show = number) => {
  if (e.value === null) return `${e.state} (${e.reason})`;
  const digits = digitsFor(e);
  if (e.low === null) return `${show(e.value, 3)} (${e.state}: ${e.reason})`;
  return `${show(e.value, digits)} [${show(e.low, digits)}, ${show(e.high, digits)}]`;
};
const probability = (p) => (p === null ? "–" : p < 0.0005 ? "<0.001" : p > 0.9995 ? ">0.999" : p.toFixed(3));
const percent = (level) => `${Number((level * 100).toPrecision(6))} %`;

const svg = (tag, attributes, ...inside) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...inside);
  return made;
};

// An interval as a bar with a dot, on an axis from `from` to `to`; the number stands beside it as text.
const bar = (e, from, to, zero = null) => {
  const place = (x) => 2 + 96 * (x - from) / (to - from);
  const picture = svg("svg", { viewBox: "0 0 100 12", class: "bar", "aria-hidden": "true", preserveAspectRatio: "none" });
  picture.append(svg("line", { x1: 2, x2: 98, y1: 6, y2: 6, class: "axis" }));
  if (zero !== null) picture.append(svg("line", { x1: place(zero), x2: place(zero), y1: 0, y2: 12, class: "zero" }));
  if (e.low !== null) picture.append(svg("rect", { x: place(e.low), width: Math.max(place(e.high) - place(e.low), 0.5), y: 4, height: 4, class: "reach" }));
  if (e.value !== null) picture.append(svg("rect", { x: place(e.value) - 0.6, width: 1.2, y: 1, height: 10, class: "dot" }));
  return picture;
};

const link = (row, words) => {
  if (!content.viewer || !data.log) return null;
  const [log, sample, epoch] = [data.log, data.sample, data.epoch].map((column) => (column.isNumber ? column.at(row) : column.values[column.at(row)]));
  if (!log || !sample) return null;
  const href = `${content.viewer}#/logs/${encodeURIComponent(log)}/samples/sample/${encodeURIComponent(sample)}/${epoch}/`;
  return element("a", { href, target: "_blank", rel: "noopener noreferrer", textContent: words });
};

const rowsOf = (model, item) => {
  const rows = [];
  for (let row = data.starts[item]; row < data.starts[item + 1]; row++) if (data.model[row] === model && found.isKept[row]) rows.push(row);
  return rows;
};

// ---------------------------------------------------------------------------------------------- filters

const buildFilters = () => {
  const box = $("filters");
  for (const column of data.columns.filter((one) => one.filter)) {
    const title = element("summary", {}, element("span", { textContent: column.label, dir: "auto" }), element("span", { className: "chosen" }));
    const details = element("details", { className: "filter" }, title);
    if (column.isNumber) {
      const inputs = ["at least", "at most"].map((words, end) => {
        const input = element("input", { type: "number", step: "any", placeholder: short(column.range[end]), inputMode: "decimal" });
        input.setAttribute("aria-label", `${column.label}: ${words}`);
        input.addEventListener("change", () => {
          const [least, most] = inputs.map((one) => (one.value === "" ? null : Number(one.value)));
          if (least === null && most === null) state.filters.delete(column);
          else state.filters.set(column, [least ?? -Infinity, most ?? Infinity]);
          title.lastChild.textContent = state.filters.has(column) ? `${least ?? ""} … ${most ?? ""}` : "";
          refresh();
        });
        return input;
      });
      details.append(element("div", { className: "range" }, inputs[0], "to", inputs[1]));
    } else {
      const list = element("div", { className: "values", role: "group" });
      list.setAttribute("aria-label", column.label);
      const boxes = column.shown.map((place) => {
        const check = element("input", { type: "checkbox", checked: true });
        const words = column.values[place] ?? "(missing)";
        list.append(element("label", {}, check, element("span", { textContent: words, dir: "auto" })));
        return [place, check];
      });
      const changed = () => {
        const wanted = boxes.filter(([, check]) => check.checked).map(([place]) => place);
        if (wanted.length === boxes.length) state.filters.delete(column);
        else state.filters.set(column, new Set(wanted));
        title.lastChild.textContent = wanted.length === boxes.length ? "" : `${wanted.length} of ${boxes.length}`;
        refresh();
      };
      list.addEventListener("change", changed);
      const all = (isChecked) => () => { boxes.forEach(([, check]) => { check.checked = isChecked; }); changed(); };
      const buttons = [["All", true], ["None", false]].map(([words, isChecked]) => {
        const made = element("button", { type: "button", textContent: words });
        made.setAttribute("aria-label", `${words} of ${column.label}`);
        made.addEventListener("click", all(isChecked));
        return made;
      });
      details.append(element("div", { className: "buttons" }, buttons), list);
    }
    box.append(details);
  }
  $("search").addEventListener("input", () => { state.search = $("search").value; refresh(); });
  $("reset").addEventListener("click", () => {
    state.filters.clear();
    state.search = $("search").value = "";
    box.querySelectorAll("input[type=checkbox]").forEach((one) => { one.checked = true; });
    box.querySelectorAll("input[type=number]").forEach((one) => { one.value = ""; });
    box.querySelectorAll(".chosen").forEach((one) => { one.textContent = ""; });
    refresh();
  });
};

// ---------------------------------------------------------------------------------------------- tables

const table = (caption, heads, rows) => {
  const head = element("tr", {}, heads.map((one) => element("th", { scope: "col", className: one.className ?? "" }, one.inside ?? one.words)));
  const body = element("tbody", {}, rows.map((cells) => element("tr", {}, cells.map((cell, k) => {
    const { className = heads[k].className ?? "", inside = cell } = cell !== null && typeof cell === "object" && !(cell instanceof Node) && !Array.isArray(cell) ? cell : {};
    const made = element(k ? "td" : "th", { className, dir: "auto" }, inside);
    if (!k) made.scope = "row";
    return made;
  }))));
  return element("table", {}, element("caption", {}, element("span", { textContent: caption })), element("thead", {}, head), body);
};

const drawModels = () => {
  const models = [...found.models].sort((x, y) => (found.means.get(y).value ?? -1) - (found.means.get(x).value ?? -1));
  const ends = models.map((m) => found.means.get(m)).flatMap((e) => [e.low, e.high, e.value]).filter((x) => x !== null);
  const [from, to] = content.bounds ?? [Math.min(...ends), Math.max(...ends)];
  const rows = models.map((m) => {
    const mean = found.means.get(m);
    const attempts = sum(found.counts.subarray(m * content.n_items, (m + 1) * content.n_items));
    return [content.models[m], { className: "number", inside: interval(mean) }, { className: "wide", inside: bar(mean, from, to) }, count(mean.nItems), String(mean.nClusters), count(attempts)];
  });
  const heads = [{ words: "Model" }, { words: `Mean [${percent(state.level)}]`, className: "number" }, { words: "0 to 1", className: "wide" }, { words: "Items", className: "number" }, { words: "Clusters", className: "number" }, { words: "Attempts", className: "number" }];
  if (!content.bounds) heads[2].words = "";
  const excluded = models.length ? found.means.get(models[0]).excluded : [];
  const evals = models.length ? sharedEvals(found.models).kept.size : 0;
  const what = evals > 1 ? `Mean of ${evals} evals' means of item means` : "Mean of item means";
  const left = excluded.length ? ` Excluded, because not all models tried them: ${excluded.map((one) => content.evals[one]).join(", ")}.` : "";
  $("models").replaceChildren(models.length ? table(`${what}; intervals over clusters (${state.cluster}).${left}`, heads, rows) : element("p", { textContent: "No attempt is left. Change the filters." }));
};

const drawCosts = () => {
  $("cost-section").hidden = !data.measures.length || !found.models.length;
  if ($("cost-section").hidden) return;
  const hasCost = found.used.has("cost");
  const heads = [{ words: "Model" }, { words: "Mean score", className: "number" }, ...data.measures.map(({ label }) => ({ words: `${label} per attempt`, className: "number" })), ...(hasCost ? [{ words: "Cost ($) per success", className: "number" }, { words: "Cost ($) in total", className: "number" }] : [])];
  const rows = [...found.models].sort((x, y) => (found.means.get(y).value ?? -1) - (found.means.get(x).value ?? -1)).map((m) => {
    const used = data.measures.map(({ name }) => interval(measureMean(m, name), short));
    return [content.models[m], interval(found.means.get(m)), ...used, ...(hasCost ? [interval(costPerSuccess(m), short), short(measureMean(m, "cost").total)] : [])];
  });
  $("costs").replaceChildren(table(`Means of item means with ${percent(state.level)} intervals over clusters (${state.cluster}). Cost per success: mean cost of an attempt divided by the mean score.`, heads, rows));
};

const PAGE = 25;

const pager = (name, nRows, draw) => {
  const last = Math.max(Math.ceil(nRows / PAGE) - 1, 0);
  state.page[name] = Math.min(state.page[name], last);
  if (!last) return null;
  const turn = (words, by) => {
    const made = element("button", { type: "button", textContent: words, disabled: by < 0 ? !state.page[name] : state.page[name] === last });
    made.addEventListener("click", () => {
      state.page[name] += by;
      draw();
      const again = [...$(name).querySelectorAll(".pager button")].find((one) => one.textContent === words && !one.disabled);
      (again ?? $(name).querySelector(".pager button:not(:disabled)")).focus();
    });
    return made;
  };
  const from = state.page[name] * PAGE;
  return element("div", { className: "pager" }, turn("Previous", -1), element("span", { textContent: `${count(from + 1)}–${count(Math.min(from + PAGE, nRows))} of ${count(nRows)}` }), turn("Next", 1));
};

const itemButton = (item) => {
  const made = element("button", { type: "button", className: "plain", textContent: content.tasks[item], dir: "auto" });
  made.addEventListener("click", () => showItem(item, true));
  return made;
};

const drawPair = () => {
  const [a, b] = [state.a, state.b];
  const names = [content.models[a], content.models[b]];
  if (content.models.length < 2 || a === b || !found.models.includes(a) || !found.models.includes(b)) {
    $("difference").replaceChildren(element("p", { textContent: "Choose two different models that have attempts left." }));
    $("flips").replaceChildren();
    return;
  }
  const pair = pairOf(a, b);
  const reach = Math.max(...[pair.low, pair.high, pair.value].map((x) => Math.abs(x ?? 0)), 0.05) * 1.1;
  const left = pair.excluded.length ? ` Excluded, because not both tried them: ${pair.excluded.map((one) => content.evals[one]).join(", ")}.` : "";
  const key = (words, big, small) => element("div", {}, element("dt", { textContent: words }), element("dd", {}, element("strong", { textContent: big }), element("span", { textContent: small })));
  const ends = pair.low === null ? pair.reason : `${percent(state.level)} interval [${number(pair.low, digitsFor(pair))}, ${number(pair.high, digitsFor(pair))}]`;
  const cells = element("dl", { className: "keys" },
    key("A − B, paired by item", number(pair.value, digitsFor(pair)), ends),
    key("P(A > B)", probability(pair.pGreater), "probability that the true difference is above 0"),
    key("Only A solves", count(pair.table.onlyA), `of ${count(pair.nItems)} shared items`),
    key("Only B solves", count(pair.table.onlyB), `both ${count(pair.table.both)}, neither ${count(pair.table.neither)}`));
  $("difference").replaceChildren(cells, pair.value === null ? "" : bar(pair, -reach, reach, 0),
    element("p", { className: "note", textContent: `A: ${names[0]}. B: ${names[1]}. ${count(pair.nItems)} shared items in ${count(pair.nClusters)} clusters (${state.cluster}). Solved: mean of the attempts above one half.${left}` }));
  drawFlips(pair);
};

let lastPair = null;
const drawFlips = (pair = lastPair) => {
  lastPair = pair;
  const flips = pair.flips.filter(({ by }) => state.flips === "both" || by === state.flips);
  const from = pager("flips", flips.length, () => drawFlips());
  const shown = flips.slice(state.page.flips * PAGE, (state.page.flips + 1) * PAGE);
  const isSeveral = content.evals.length > 1;
  const heads = [{ words: "Item" }, ...(isSeveral ? [{ words: "Eval" }] : []), { words: "Solved by" }, { words: "A", className: "number" }, { words: "B", className: "number" }, ...(content.viewer ? [{ words: "Transcripts" }] : [])];
  const rows = shown.map(({ item, by, x, y }) => {
    const links = content.viewer ? [[["A", state.a], ["B", state.b]].flatMap(([words, m]) => rowsOf(m, item).slice(0, 1).map((row) => [link(row, words), " "]))] : [];
    return [itemButton(item), ...(isSeveral ? [content.evals[data.eval[item]]] : []), by === "a" ? "A" : "B", number(x, 2), number(y, 2), ...links.map((inside) => ({ inside: inside.flat(2) }))];
  });
  const caption = flips.length ? "Items that only one of the two solves. Choose an item to see its attempts." : "No item is solved by only one of the two.";
  $("flips").replaceChildren(...[flips.length ? table(caption, heads, rows) : element("p", { className: "note", textContent: caption }), from].filter(Boolean));
};

const COLUMNS = [
  { key: "name", words: "Item" },
  { key: "eval", words: "Eval", className: "" },
  { key: "success", words: "Mean over models", className: "number" },
  { key: "a", words: "A", className: "number" },
  { key: "b", words: "B", className: "number" },
  { key: "difference", words: "A − B", className: "number" },
  { key: "nModels", words: "Models", className: "number" },
  { key: "solved", words: "Solved", className: "" },
];

const drawItems = (isKept = false) => {
  if (!isKept || !found.rows) found.rows = itemRows();
  const { key, sign } = state.sort;
  const rows = [...found.rows].sort((x, y) => {
    const [p, q] = [x[key], y[key]];
    if (typeof p === "string") return sign * p.localeCompare(q, "en", { numeric: true });
    return (p !== p) - (q !== q) || sign * (p - q) || x.item - y.item;
  });
  const columns = COLUMNS.filter(({ key: name }) => (name !== "eval" || content.evals.length > 1) && (name !== "solved" || content.bounds));
  const heads = columns.map((column) => {
    const made = element("button", { type: "button", textContent: column.words });
    made.addEventListener("click", () => {
      state.sort = { key: column.key, sign: column.key === key ? -sign : 1 };
      state.page.items = 0;
      drawItems(true);
      [...$("items").querySelectorAll("thead button")].find((one) => one.textContent === column.words).focus();
    });
    return { ...column, inside: made };
  });
  const turns = pager("items", rows.length, () => drawItems(true));
  const shown = rows.slice(state.page.items * PAGE, (state.page.items + 1) * PAGE);
  const made = table(`${count(rows.length)} items, one row each. Choose an item to see its attempts.`, heads, shown.map((row) => columns.map(({ key: name }) => {
    if (name === "name") return itemButton(row.item);
    return typeof row[name] === "number" ? (name === "nModels" ? String(row[name]) : number(row[name], 2)) : row[name];
  })));
  const kinds = ["never", "always"].map((kind) => rows.filter(({ solved }) => solved === kind).length);
  columns.forEach((column, k) => { if (column.key === key) made.tHead.rows[0].cells[k].ariaSort = sign > 0 ? "ascending" : "descending"; });
  const told = content.bounds ? [element("p", { className: "note", textContent: `Never solved: ${count(kinds[0])} of ${count(rows.length)}. Always solved: ${count(kinds[1])}. The other ${count(rows.length - kinds[0] - kinds[1])} can tell models apart.` })] : [];
  $("items").replaceChildren(...told, made, ...(turns ? [turns] : []));
};

// One item: every model's attempts, with answers side by side where the page has texts.
let texts = null;
const showItem = async (item, isMoved) => {
  state.item = item;
  if (content.texts && !texts) texts = JSON.parse(new TextDecoder().decode(await unpacked(content.texts.blob)));
  const box = $("item");
  const parts = [element("h3", { textContent: content.tasks[item], dir: "auto", tabIndex: -1, id: "item-name" })];
  const first = data.starts[item];
  const asked = (name, words) => {
    const column = data.texts?.[name];
    const text = column && texts[column.at(first)];
    if (text) parts.push(element("details", { open: true }, element("summary", { textContent: words }), element("div", { className: "text", textContent: text, dir: "auto" })));
  };
  asked("question", "Question");
  asked("target", "Target");
  const cards = (found.models.includes(state.a) ? [state.a, state.b, ...found.models.filter((m) => m !== state.a && m !== state.b)] : found.models)
    .filter((m, k, all) => all.indexOf(m) === k).map((m) => [m, rowsOf(m, item)]).filter(([, rows]) => rows.length);
  const side = element("div", { className: "answers" }, cards.map(([m, rows]) => {
    const role = m === state.a ? "A: " : m === state.b ? "B: " : "";
    return element("article", { className: scoreAt(m, item) > 0.5 ? "right" : "wrong" },
      element("h4", { textContent: `${role}${content.models[m]}`, dir: "auto" }),
      element("p", { className: "note", textContent: `mean ${number(scoreAt(m, item), 2)}, ${count(found.counts[m * content.n_items + item])} ${found.counts[m * content.n_items + item] === 1 ? "attempt" : "attempts"}` }),
      ...rows.slice(0, 5).map((row, k) => element("div", { className: "attempt" },
        element("p", {}, `Score ${short(data.score[row])} `, link(row, "transcript") ?? ""),
        data.texts?.answer ? element("div", { className: "text", textContent: texts[data.texts.answer.at(row)] || "(no answer)", dir: "auto", tabIndex: 0, role: "group", aria: { label: `Answer ${k + 1} of ${content.models[m]}` } }) : null)),
      rows.length > 5 ? element("p", { className: "note", textContent: `and ${rows.length - 5} more` }) : null);
  }));
  box.replaceChildren(...parts, side);
  box.hidden = false;
  if (isMoved) { $("item-section").scrollIntoView({ block: "start" }); $("item-name").focus({ preventScroll: true }); }
  drawMap();
};

// ---------------------------------------------------------------------------------------------- the map

const canvas = $("map");
let layout = null;

const orderedItems = () => {
  const rows = (found.rows ??= itemRows()).slice();
  const by = {
    difficulty: (x, y) => y.success - x.success || x.item - y.item,
    difference: (x, y) => (x.difference !== x.difference) - (y.difference !== y.difference) || y.difference - x.difference || y.success - x.success,
    eval: (x, y) => x.eval.localeCompare(y.eval, "en", { numeric: true }) || y.success - x.success,
    name: (x, y) => x.name.localeCompare(y.name, "en", { numeric: true }),
  }[state.itemOrder];
  return rows.sort(by).map(({ item }) => item);
};

const orderedModels = () => [...found.models].sort((x, y) => (state.modelOrder === "mean"
  ? (found.means.get(y).value ?? -1) - (found.means.get(x).value ?? -1)
  : content.models[x].localeCompare(content.models[y], "en", { numeric: true })));

const arrange = () => { layout = { items: orderedItems(), models: orderedModels() }; state.cursor = { model: 0, item: 0 }; state.view = { from: 0, to: 1 }; };

const mixed = (colors, share) => {
  const place = Math.min(Math.max(share, 0), 1) * (colors.length - 1), k = Math.min(Math.floor(place), colors.length - 2);
  return colors[k].map((one, c) => Math.round(one + (colors[k + 1][c] - one) * (place - k)));
};
const rgb = (text) => { const n = parseInt(text.trim().slice(1), 16); return [n >> 16, (n >> 8) & 255, n & 255]; };

const drawMap = () => {
  if (!layout) return;
  const { items, models } = layout;
  const style = getComputedStyle(document.documentElement);
  const color = (name) => style.getPropertyValue(name);
  const colors = ["--map-low", "--map-middle", "--map-high"].map((name) => rgb(color(name)));
  const width = canvas.parentElement.clientWidth, scale = devicePixelRatio || 1;
  const gutter = Math.min(Math.max(90, width * 0.2), 220);
  const rowHeight = Math.min(Math.max(340 / Math.max(models.length, 1), 7), 30);
  const height = Math.max(Math.round(rowHeight * models.length), 20);
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const paint = canvas.getContext("2d");
  paint.setTransform(scale, 0, 0, scale, 0, 0);
  const from = Math.floor(state.view.from * items.length), to = Math.max(Math.ceil(state.view.to * items.length), from + 1);
  const nShown = Math.min(to, items.length) - from;
  Object.assign(layout, { gutter, rowHeight, width, from, nShown });
  if (!nShown || nShown < 0) return;
  // the picture of all scores: one pixel per cell, or the mean of the items that share a pixel
  const across = Math.round((width - gutter) * scale), nColumns = Math.min(nShown, across);
  const [low, high] = content.bounds ?? [found.rows.reduce((x, r) => Math.min(x, r.success), Infinity), found.rows.reduce((x, r) => Math.max(x, r.success), -Infinity)];
  const picture = new ImageData(nColumns, models.length), pixels = new Uint32Array(picture.data.buffer);
  const pixel = ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
  const shades = Uint32Array.from({ length: 256 }, (_, k) => pixel(mixed(colors, k / 255)));
  const none = pixel(rgb(color("--soft")));
  models.forEach((m, y) => {
    for (let x = 0; x < nColumns; x++) {
      const start = from + Math.floor(x * nShown / nColumns), end = from + Math.max(Math.floor((x + 1) * nShown / nColumns), Math.floor(x * nShown / nColumns) + 1);
      let total = 0, n = 0;
      for (let k = start; k < end; k++) {
        const one = scoreAt(m, items[k]);
        if (one === one) { total += one; n += 1; }
      }
      pixels[y * nColumns + x] = n ? shades[Math.round(255 * Math.min(Math.max((total / n - low) / (high - low || 1), 0), 1))] : none;
    }
  });
  const small = new OffscreenCanvas(nColumns, models.length);
  small.getContext("2d").putImageData(picture, 0, 0);
  paint.imageSmoothingEnabled = false;
  paint.drawImage(small, gutter, 0, width - gutter, rowHeight * models.length);
  const cellWidth = (width - gutter) / nShown;
  paint.fillStyle = color("--paper");
  if (rowHeight > 10) models.forEach((_, y) => paint.fillRect(gutter, (y + 1) * rowHeight - 1, width - gutter, 1));
  if (cellWidth > 6) for (let x = 1; x < nShown; x++) paint.fillRect(gutter + x * cellWidth - 0.5, 0, 1, height);
  paint.font = `${Math.min(13, rowHeight - 1)}px ${style.getPropertyValue("--sans")}`;
  paint.textBaseline = "middle";
  models.forEach((m, y) => {
    if (rowHeight < 9) return;
    let name = content.models[m];
    while (name.length > 2 && paint.measureText(name).width > gutter - 10) name = `${name.replace(/…$/, "").slice(0, -1)}…`;
    paint.fillStyle = color("--ink");
    paint.fillText(name, 0, (y + 0.5) * rowHeight);
  });
  const mark = (k, y, rows, name, thickness) => {
    if (k < from || k >= from + nShown) return;
    paint.strokeStyle = color(name);
    paint.lineWidth = thickness;
    paint.strokeRect(gutter + (k - from) * cellWidth, y * rowHeight + thickness / 2, Math.max(cellWidth, 3), rows * rowHeight - thickness);
  };
  if (state.item !== null) mark(items.indexOf(state.item), 0, models.length, "--ink", 2);
  if (document.activeElement === canvas) mark(state.cursor.item, state.cursor.model, 1, "--ink", 2);
  const [x, y] = [state.view.from, state.view.to].map((one) => Math.round(one * items.length));
  $("zoom-told").textContent = x === 0 && y === items.length ? `all ${count(items.length)} items` : `items ${count(x + 1)}–${count(y)} of ${count(items.length)}`;
  canvas.setAttribute("aria-label", `Map of scores: ${models.length} models by ${items.length} items. Arrow keys move, plus and minus zoom, Enter chooses an item. The same numbers are in the tables.`);
};

const zoom = (factor, centre = 0.5) => {
  const { from, to } = state.view, least = Math.min(8 / Math.max(layout.items.length, 8), 1);
  const size = Math.min(Math.max((to - from) * factor, least), 1), middle = from + (to - from) * centre;
  const start = Math.min(Math.max(middle - size * centre, 0), 1 - size);
  state.view = { from: start, to: start + size };
  scheduleMap();
};
const pan = (share) => {
  const { from, to } = state.view, size = to - from, start = Math.min(Math.max(from + share * size, 0), 1 - size);
  state.view = { from: start, to: start + size };
  scheduleMap();
};
let waiting = 0;
const scheduleMap = () => { waiting ||= requestAnimationFrame(() => { waiting = 0; drawMap(); }); };

const cellAt = (event) => {
  const box = canvas.getBoundingClientRect();
  const x = event.clientX - box.left - layout.gutter, y = event.clientY - box.top;
  if (x < 0 || !layout.nShown) return null;
  const k = layout.from + Math.floor(x / ((layout.width - layout.gutter) / layout.nShown));
  const m = Math.floor(y / layout.rowHeight);
  return layout.models[m] === undefined || layout.items[k] === undefined ? null : { model: m, item: k };
};
const tell = (cell, where) => {
  const m = layout.models[cell.model], i = layout.items[cell.item], x = scoreAt(m, i);
  const score = x === x ? `score ${number(x, 2)} (attempts: ${count(found.counts[m * content.n_items + i])})` : "not tried";
  where.textContent = `${content.models[m]}, ${content.tasks[i]}: ${score}`;
};

const watchMap = () => {
  let grabbed = null;
  canvas.addEventListener("pointermove", (event) => {
    if (grabbed) {
      const by = (grabbed.x - event.clientX) / (layout.width - layout.gutter);
      grabbed.moved += Math.abs(event.clientX - grabbed.x);
      grabbed.x = event.clientX;
      if (state.view.to - state.view.from < 1) pan(by);
      return;
    }
    const cell = cellAt(event);
    if (cell) tell(cell, $("hovered"));
  });
  canvas.addEventListener("pointerdown", (event) => { grabbed = { x: event.clientX, moved: 0 }; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointerup", (event) => {
    const isClick = grabbed && grabbed.moved < 5, cell = cellAt(event);
    grabbed = null;
    if (isClick && cell) { state.cursor = cell; showItem(layout.items[cell.item], false); }
  });
  canvas.addEventListener("pointercancel", () => { grabbed = null; });
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.shiftKey) return; // the page scrolls
    event.preventDefault();
    const box = canvas.getBoundingClientRect();
    zoom(Math.exp((event.deltaY || event.deltaX) / 300), (event.clientX - box.left - layout.gutter) / (layout.width - layout.gutter));
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !layout.items.length) return;
    const { cursor } = state;
    const step = event.shiftKey ? 10 : 1;
    const moves = {
      ArrowLeft: () => { cursor.item -= step; }, ArrowRight: () => { cursor.item += step; },
      ArrowUp: () => { cursor.model -= 1; }, ArrowDown: () => { cursor.model += 1; },
      Home: () => { cursor.item = 0; }, End: () => { cursor.item = layout.items.length - 1; },
      "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), 0: () => zoom(1e9),
      Enter: () => showItem(layout.items[cursor.item], true),
    };
    if (!moves[event.key]) return;
    event.preventDefault();
    moves[event.key]();
    cursor.item = Math.min(Math.max(cursor.item, 0), layout.items.length - 1);
    cursor.model = Math.min(Math.max(cursor.model, 0), layout.models.length - 1);
    const share = cursor.item / layout.items.length, size = state.view.to - state.view.from;
    if (share < state.view.from || share >= state.view.to) {
      const start = Math.min(Math.max(share - size / 2, 0), 1 - size);
      state.view = { from: start, to: start + size };
    }
    if (event.key !== "Enter") tell(cursor, $("told"));
    scheduleMap();
  });
  for (const one of ["focus", "blur"]) canvas.addEventListener(one, scheduleMap);
  $("zoom-in").addEventListener("click", () => zoom(0.5));
  $("zoom-out").addEventListener("click", () => zoom(2));
  $("zoom-left").addEventListener("click", () => pan(-0.5));
  $("zoom-right").addEventListener("click", () => pan(0.5));
  new ResizeObserver(scheduleMap).observe(canvas.parentElement);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", scheduleMap);
};

// ---------------------------------------------------------------------------------------------- putting it together

const refresh = () => {
  select();
  draw();
};

const draw = () => {
  arrange();
  state.page = { items: 0, flips: 0 };
  drawModels();
  drawPair();
  drawItems();
  drawCosts();
  if (state.item !== null && found.models.length) showItem(state.item, false);
  drawMap();
  $("left").textContent = `${count(found.n)} of ${count(content.n)} attempts, ${found.models.length} of ${content.models.length} models, ${count(found.rows.length)} of ${count(content.n_items)} items`;
};

const choose = (id, options, value, changed) => {
  $(id).append(...options.map(([one, words]) => element("option", { value: one, textContent: words })));
  $(id).value = value;
  $(id).addEventListener("change", () => changed($(id).value));
};

const start = async () => {
  const buffer = await unpacked(content.blob);
  data.columns = content.columns.map((told) => columnOf(buffer, told));
  const named = Object.fromEntries(data.columns.map((one) => [one.name, one]));
  const array = (name) => named[name].array;
  Object.assign(data, { model: array("#model"), item: array("#item"), eval: array("#eval"), n: named["#n"] ?? null, cell: content.n_cells > 1 ? array("#cell") : null });
  const scores = named["#score"];
  data.score = scores.array;
  if (scores.numbers) {
    data.score = new Float64Array(scores.array.length);
    for (let row = 0; row < data.score.length; row++) data.score[row] = scores.numbers[scores.array[row]];
  }
  data.measures = data.columns.filter((one) => one.measure);
  data.digest = named["#digest"] ?? null;
  [data.log, data.sample, data.epoch] = ["log", "sample", "epoch"].map((name) => named[name] ?? named[`#${name}`] ?? null);
  data.texts = content.texts && Object.fromEntries(content.texts.columns.map((name) => [name, named[`#text ${name}`]]));
  data.clusters = Object.fromEntries(content.clusters.map((name) => [name, array(`#cluster ${name}`)]));
  data.starts = new Uint32Array(content.n_items + 1);
  for (let row = 0; row < data.item.length; row++) data.starts[data.item[row] + 1] += 1;
  for (let i = 0; i < content.n_items; i++) data.starts[i + 1] += data.starts[i];
  select();
  const best = [...found.models].sort((x, y) => (found.means.get(y).value ?? -1) - (found.means.get(x).value ?? -1));
  [state.a, state.b] = [best[0] ?? 0, best[1] ?? best[0] ?? 0];
  buildFilters();
  if (innerWidth < 900) $("filter-box").open = false;
  const models = content.models.map((name, m) => [m, name]);
  const again = (id) => (value) => { state[id] = Number(value); state.page.flips = 0; found.rows = null; drawPair(); drawItems(); arrange(); drawMap(); if (state.item !== null) showItem(state.item, false); };
  choose("a", models, state.a, again("a"));
  choose("b", models, state.b, again("b"));
  choose("cluster", content.clusters.map((name) => [name, name]), state.cluster, (value) => { state.cluster = value; refresh(); });
  choose("level", Object.keys(content.quantiles).map((one) => [one, percent(Number(one))]), String(state.level), (value) => { state.level = Number(value); refresh(); });
  choose("item-order", [["difficulty", "mean over models"], ["difference", "A − B"], ...(content.evals.length > 1 ? [["eval", "eval, then mean"]] : []), ["name", "name"]], state.itemOrder, (value) => { state.itemOrder = value; arrange(); drawMap(); });
  choose("model-order", [["mean", "mean"], ["name", "name"]], state.modelOrder, (value) => { state.modelOrder = value; arrange(); drawMap(); });
  choose("flip-kind", [["both", "A or B"], ["a", "A"], ["b", "B"]], state.flips, (value) => { state.flips = value; state.page.flips = 0; drawFlips(); });
  watchMap();
  draw();
  document.documentElement.dataset.ready = "yes";
};

// For people who like the console, and for the test that compares these numbers with Python's.
globalThis.explorer = { state, data, content, refresh, models: () => found.models.map((m) => ({ model: content.models[m], ...found.means.get(m) })), pair: pairOf, measure: measureMean, costPerSuccess, tQuantile, tBelow };

start();
