// The charts. Each function takes an assessment, the width in pixels and the state of the page, and returns an SVG.
// Nothing is estimated here: the numbers are those of the page's data.
"use strict";
globalThis.rainproof = (() => {
  const colours = {
    forecast: "var(--forecast)", mark: "var(--mark)", band: "var(--band)", quiet: "var(--quiet)", ink: "var(--ink)",
    soft: "var(--soft)", said: "var(--said)", bad: "var(--bad)", good: "var(--good)",
  };
  const models = ["var(--forecast)", "var(--mark)", "var(--good)", "var(--care)", "var(--bad)", "var(--quiet)"];
  const dashes = ["none", "6 3", "2 3", "8 3 2 3", "1 4", "12 4"];

  const number = (x) => (x === null || x === undefined ? "unknown" : x === 0 ? "0" : Number(x.toPrecision(3)).toString());
  // With two significant digits of the size, as in the words of the verdict; those of a share near 100% are of its complement.
  function money(x, size = Math.abs(x) || 1) {
    const digits = Math.min(12, Math.max(0, 1 - Math.floor(Math.log10(size))));
    return Number(x.toPrecision(12)).toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits, roundingMode: "halfExpand" });
  }
  function percent(x) {
    if (x === null || x === undefined) return "unknown";
    const points = Number((100 * x).toFixed(9));
    return `${money(points, Math.abs(points > 50 ? 100 - points : points) || 100)}%`;
  }
  const rows = (columns) => Object.values(columns)[0].map((_, i) => Object.fromEntries(Object.entries(columns).map(([k, v]) => [k, v[i]])));

  function plot(label, width, options) {
    const svg = Plot.plot({ className: "plot", width, marginLeft: 46, marginBottom: 38, marginRight: 14, ...options });
    svg.querySelector("style")?.remove(); // its rules are in page.css: the policy allows no other style
    svg.querySelectorAll("[aria-label]").forEach((part) => part.removeAttribute("aria-label")); // "dot", "rule": noise to listeners
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", label);
    return svg;
  }
  // Along x or y alone, the nearest value shows wherever in the chart the pointer is.
  const tip = (data, options, pointer = Plot.pointer) => Plot.tip(data, pointer({ maxRadius: Infinity, fill: "var(--card)", stroke: colours.quiet, lineWidth: 26, lineHeight: 1.25, ...options }));
  const top = (...heights) => Math.max(...heights.flat()) || 0.01; // a chart of zeros needs some height
  const upward = (label, more) => ({ label, labelArrow: "none", grid: true, nice: true, ticks: 6, ...more });

  // Probabilities on an axis: plain, or on the logit scale where the event is rare or nearly certain.
  const logit = (p) => Math.log(p / (1 - p));
  const expit = (x) => 1 / (1 + Math.exp(-x));
  const TICKS = [1e-6, 1e-5, 1e-4, 0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999];
  const MORE = [0.002, 0.005, 0.02, 0.05, 0.2, 0.8, 0.95, 0.98, 0.995, 0.998];
  function steps(from, to, size) {
    const n = Math.min(60, Math.floor((to - from) / size));
    return Array.from({ length: Math.max(0, n) }, (_, i) => from + ((to - from) * (i + 1)) / (n + 1));
  }
  function axis(rates, values = [], within = null) {
    if (within && within.low < within.high) return { at: (p) => p, back: (x) => x, shown: (p) => p >= within.low && p <= within.high, between: (p, q) => steps(p, q, (within.high - within.low) / 50), scale: (label) => ({ domain: [within.low, within.high], tickFormat: (x) => `${Number((100 * x).toPrecision(6))}%`, label, labelAnchor: "center", labelArrow: "none" }) };
    const rarer = Math.min(...rates.map((rate) => Math.min(rate, 1 - rate)));
    if (!(rarer > 0 && rarer < 0.05)) return { at: (p) => p, back: (x) => x, shown: () => true, between: (p, q) => steps(p, q, 0.02), scale: (label) => ({ domain: [0, 1], tickFormat: (x) => `${Math.round(100 * x)}%`, label, labelAnchor: "center", labelArrow: "none" }) };
    const inner = values.filter((p) => p > 0 && p < 1);
    const away = (r) => (r < 0.95 ? r / 30 : 0.5); // how near to 0 the axis begins; likewise how near to 1 it ends
    const ends = [Math.min(...rates.map(away)), 1 - Math.min(...rates.map((r) => away(1 - r)))];
    const low = Math.max(1e-6, Math.min(ends[0], ...inner)), high = Math.min(1 - 1e-6, Math.max(ends[1], ...inner));
    const at = (p) => logit(Math.min(Math.max(p, low), high));
    const wide = logit(high) - logit(low) > 6;
    const ticks = [...TICKS, ...(wide ? [] : MORE)].filter((p) => p >= low && p <= high).map(logit);
    const tickFormat = (x) => `${Number((100 * expit(x)).toPrecision(6))}%`;
    return {
      at, back: expit, shown: (p) => p >= low && p <= high, between: (p, q) => steps(at(p), at(q), 0.1).map(expit),
      scale: (label) => ({ domain: [at(low), at(high)], ticks, tickFormat, label: `${label} (logit scale)`, labelAnchor: "center", labelArrow: "none" }),
    };
  }
  // The points of a curve of straight pieces, with more in between where the axis, or the height that is shown, bends them.
  function curve(x, y, on, height = (_, v) => v) {
    const points = [];
    x.forEach((p, i) => {
      if (i > 0) on.between(x[i - 1], p).forEach((q) => points.push({ p: q, y: y[i - 1] + ((y[i] - y[i - 1]) * (q - x[i - 1])) / (p - x[i - 1]) }));
      points.push({ p, y: y[i] });
    });
    return points.filter((d) => on.shown(d.p)).map((d) => ({ x: on.at(d.p), y: height(d.p, d.y) })).filter((d) => Number.isFinite(d.y));
  }
  // A line ends where it leaves the chart: the dashes of one that goes on for a million pixels fill a PDF.
  function above(points, lowest) {
    return points.flatMap((d, i) => {
      const last = points[i - 1];
      const leaves = last && d.y < lowest !== last.y < lowest;
      const edge = leaves ? [{ ...d, x: last.x + ((d.x - last.x) * (lowest - last.y)) / (d.y - last.y), y: lowest }] : [];
      return [...edge, d.y < lowest ? { ...d, y: null } : d];
    });
  }

  // What a calibrated forecast shows by chance; it gains nothing at the thresholds 0 and 1.
  function band(x, low, high, on, within) {
    const [at, lows, highs] = within ? [x, low, high] : [[0, ...x, 1], [0, ...low, 0], [0, ...high, 0]];
    const top = curve(at, highs, on);
    return curve(at, lows, on).map((d, i) => ({ x: d.x, low: d.y, high: top[i].y }));
  }

  // Decision curves of one forecast, or of several: the net benefit, or the gain over the better of always and never acting.
  function decisionCurves(label, all, width, height, state) {
    const within = all[0].guarantee.threshold_range, on = axis(all.map((a) => a.event_rate), [], within), scale = on.scale("threshold");
    const shown = (a) => (state.gain ? (_, v) => v : (t, v) => (v + Math.max(0, a.event_rate - t)) / (1 - t));
    const line = (a, values, options) => ({ options, points: curve(a.value.threshold, values, on, shown(a)) });
    const alone = all.length === 1, [a] = all, dashed = { stroke: colours.quiet, strokeDasharray: "4 3" };
    const forecasts = all.map((one, i) => line(one, one.value.value, { stroke: models[i % 6], strokeDasharray: dashes[i % 6], strokeWidth: 2 }));
    const others = alone ? [line(a, a.value.value_recalibrated, { stroke: colours.good, strokeWidth: 2, strokeDasharray: "7 3" })] : [];
    if (state.gain && alone) others.push(line(a, a.value.value_perfect, dashed));
    const rates = state.gain ? [] : [...new Map(all.map((one) => [one.event_rate, one])).values()]; // always acting gains this over never acting, and loses that
    const always = rates.map((one) => ({ options: dashed, points: curve([0, one.event_rate, 1], [0, 0, one.event_rate - 1], on, shown(one)) }));
    const lines = [...always, ...others, ...forecasts];
    const heights = lines.flatMap((l) => l.points.map((d) => d.y));
    const most = top(heights);
    const lowest = Math.max((state.gain ? -0.6 : -0.25) * most, Math.min(0, ...heights));
    const inside = (y) => Math.min(Math.max(y, lowest), 1.04 * most);
    const bands = state.gain ? (alone ? [{ fill: colours.band, points: band(state.costs.threshold, state.costs.null_low, state.costs.null_high, on, within) }] : []) : all.filter((one) => one.clinical).map((one, i) => {
      const { threshold, low, high } = one.clinical.net_benefit;
      return { fill: models[i % 6], fillOpacity: 0.16, points: rows({ t: threshold, low: low[0], high: high[0] }).filter((d) => d.low !== null && on.shown(d.t)).map((d) => ({ x: on.at(d.t), low: inside(d.low), high: inside(d.high) })) };
    });
    const at = (c, i) => shown(a)(c.threshold[i], c.value[i]);
    const here = alone && on.shown(state.costs.threshold[state.at]) ? [{ t: state.costs.threshold[state.at], y: at(state.costs, state.at) }] : [];
    const mine = here.map((d) => ({ x: on.at(d.t), y: Math.max(d.y, lowest) }));
    const what = state.gain ? "gain" : "net benefit";
    const tips = alone
      ? rows(state.costs).filter((d) => on.shown(d.threshold)).map((d, i) => ({ x: on.at(d.threshold), y: Math.max(shown(a)(d.threshold, d.value), lowest), title: tipAt(d, what, shown(a)) }))
      : forecasts.flatMap((l, i) => l.points.filter((d) => d.y >= lowest).map((d) => ({ ...d, title: `${all[i].name}\nact from ${percent(on.back(d.x))} on: ${what} ${number(d.y)}` })));
    return plot(`${label}${here.map((d) => `; at the threshold ${percent(d.t)} it is ${number(d.y)}`)}.`, width, {
      height, marginTop: alone ? 36 : 26, marginBottom: 34, marginLeft: 52, x: scale,
      y: upward(`${what} per case`, { nice: false, domain: [lowest - 0.04 * most, 1.04 * most], ticks: 5 }),
      marks: [
        ...bands.map(({ points, ...options }) => Plot.areaY(points, { x: "x", y1: "low", y2: "high", ...options })),
        Plot.ruleY([0], { stroke: colours.soft, strokeWidth: 1.5 }),
        ...lines.map((l) => Plot.line(above(l.points, lowest), { x: "x", y: "y", ...l.options })),
        Plot.ruleX(mine, { x: "x", stroke: colours.mark, strokeDasharray: "2 3" }),
        Plot.dot(mine, { x: "x", y: "y", r: 5, fill: colours.mark, stroke: "var(--card)", className: "mark" }),
        Plot.text(mine, { x: "x", frameAnchor: "top", dy: -10, text: () => `${state.own} threshold: ${percent(here[0].t)}`, fill: colours.mark, fontWeight: 600, textAnchor: inText((mine[0]?.x - scale.domain[0]) / (scale.domain[1] - scale.domain[0])) }),
        tip(tips, { x: "x", y: "y", title: "title" }, alone ? Plot.pointerX : Plot.pointer),
      ],
    });
  }
  function tipAt(d, what, shown) {
    const [asIs, better, perfect, low, high] = ["value", "value_recalibrated", "value_perfect", "null_low", "null_high"].map((name) => number(shown(d.threshold, d[name])));
    return `act from ${percent(d.threshold)} on: ${what} per case\nas they are ${asIs}\nrecalibrated ${better}\n${what === "gain" ? "" : `always act ${number(d.net_benefit_always)}, never act 0\n`}perfect foresight ${perfect}\ncalibrated, by chance: ${low} to ${high}`;
  }
  const value = (a, width, state) => decisionCurves("Decision curve: what acting on the forecast gains, as it is and recalibrated, beside always and never acting", [a], width, Math.max(230, Math.min(246, width * 0.66)), state);

  function mapOf(a, on) {
    if (!a.recalibration || a.recalibration.method === "none") return [];
    const { edges, start, slope } = a.recalibration.map;
    const bars = a.histogram.share.flatMap((share, i) => (share > 0 ? [a.histogram.edges[i], a.histogram.edges[i + 1]] : []));
    const [first, last] = [Math.min(...bars), Math.max(...bars)]; // beyond the predictions the map is a guess
    const piece = start.map((s, k) => ({ from: Math.max(edges[k], first), to: Math.min(edges[k + 1], last), at: (p) => s + slope[k] * (p - edges[k]) })).filter((d) => d.from <= d.to);
    const x = piece.flatMap((d) => [d.from, d.to]);
    const y = piece.flatMap((d) => [d.at(d.from), d.at(d.to)]);
    return curve(x, y, on).filter((d) => on.shown(d.y)).map((d) => ({ x: d.x, y: on.at(d.y) }));
  }

  const PALE_ROWS = 20; // points of fewer rows say little
  function reliability(a, width) {
    const { grid, method, ...columns } = a.reliability;
    const bins = rows(columns);
    const on = axis([a.event_rate], bins.map((d) => d.null_mean));
    const x = (d) => on.at(d.null_mean), y = (name) => (d) => on.at(d[name]);
    const [low, high] = on.scale("").domain;
    const many = bins.length > 40;
    const strokeOpacity = (d) => (d.share * a.n < PALE_ROWS ? 0.35 : 1), fillOpacity = strokeOpacity;
    return plot(
      `Reliability diagram: the event rate at ${bins.length} predictions, and the recalibration map; the table below has the numbers.`,
      width,
      {
        height: Math.max(184, Math.min(190, width * 0.5)), marginBottom: 18, marginTop: 22, marginLeft: 52, x: { ...on.scale(""), label: null },
        y: { ...upward("event rate", { nice: false }), ...on.scale("event rate"), labelAnchor: "top", ticks: on.scale("").ticks ?? 6 },
        marks: [
          Plot.areaY(bins, { x, y1: y("null_low"), y2: y("null_high"), fill: colours.band }),
          ...(bins.length === 1 ? [Plot.ruleX(bins, { x, y1: y("null_low"), y2: y("null_high"), stroke: colours.band, strokeWidth: 9 })] : []),
          Plot.line([[low, low], [high, high]], { stroke: colours.quiet, strokeDasharray: "4 3" }),
          Plot.ruleX(bins, { x, y1: y("low"), y2: y("high"), stroke: colours.forecast, strokeOpacity, strokeWidth: many ? 0.8 : 1.5 }),
          Plot.dot(bins, { x, y: y("event_rate"), r: many ? 2 : 3.5, fill: colours.forecast, fillOpacity, stroke: many ? "none" : "var(--card)" }),
          Plot.line(mapOf(a, on), { x: "x", y: "y", stroke: colours.good, strokeWidth: 2.5, strokeDasharray: "7 3" }),
          tip(bins, {
            x, y: y("event_rate"),
            title: (d) => `says ${percent(d.null_mean)}, happens ${percent(d.event_rate)}\ninterval ${percent(d.low)} to ${percent(d.high)}\n${percent(d.share)} of the rows`,
          }, Plot.pointerX),
        ],
      },
    );
  }

  function histogram(a, width) {
    const { edges, share, share_events } = a.histogram;
    const on = axis([a.event_rate], a.reliability.null_mean);
    const bars = share.map((s, i) => ({ low: edges[i], high: edges[i + 1], share: s, events: share_events[i] })).filter((d) => on.at(d.low) < on.at(d.high));
    const ends = { x1: (d) => on.at(d.low), x2: (d) => on.at(d.high) };
    return plot("The distribution of the predictions.", width, {
      height: 66, marginTop: 6, marginLeft: 52, marginBottom: 34, x: on.scale("predicted probability"), y: { label: null, ticks: [0, Math.max(...share)], tickFormat: percent },
      marks: [
        Plot.rectY(bars, { ...ends, y: "share", fill: colours.said, inset: 0.3 }),
        Plot.rectY(bars, { ...ends, y: "events", fill: colours.forecast, inset: 0.3 }),
        Plot.ruleY([0], { stroke: colours.soft }),
        tip(bars, {
          x: (d) => (on.at(d.low) + on.at(d.high)) / 2, y: "share",
          title: (d) => `predictions ${percent(d.low)} to ${percent(d.high)}\n${percent(d.share)} of the rows\n${percent(d.events)} with the event`,
        }, Plot.pointerX),
      ],
    });
  }

  const inText = (mu) => (mu < 0.3 ? "start" : mu > 0.7 ? "end" : "middle");

  function regret(a, width, state) {
    const curve = a.regret;
    const here = a.advice.thresholds[state.at];
    const points = a.advice.thresholds;
    const worst = curve.worst;
    const highest = worst.regret > 0 ? [worst] : [];
    return plot(
      `Regret curve: highest at the threshold ${percent(worst.threshold)} with ${number(worst.regret)}; at ${percent(here.threshold)} it is ${number(here.regret)}.`,
      width,
      {
        height: Math.min(340, Math.max(240, width * 0.5)), marginTop: 26,
        x: axis([0.5], [], a.guarantee.threshold_range).scale("threshold"), y: upward("loss per row", { insetTop: 20, domain: [0, top(curve.regret, curve.null_high)] }),
        marks: [
          Plot.areaY(curve.null_threshold, { x: curve.null_threshold, y: curve.null_high, fill: colours.band }),
          Plot.line(curve.threshold, { x: curve.threshold, y: curve.regret, stroke: colours.forecast, strokeWidth: 2 }),
          Plot.ruleY([0], { stroke: colours.soft }),
          Plot.dot(highest, { x: "threshold", y: "regret", symbol: "diamond", r: 5, fill: colours.ink }),
          Plot.text(highest, { x: "threshold", y: "regret", text: (d) => `largest ${d.threshold <= 0.0005 ? "near 0" : d.threshold >= 0.9995 ? "near 1" : `at ${percent(d.threshold)}`}`, dy: -12, textAnchor: inText(worst.threshold), fill: colours.ink }),
          Plot.ruleX([here], { x: "threshold", stroke: colours.mark, strokeDasharray: "4 3" }),
          Plot.dot([here], { x: "threshold", y: "regret", r: 6, fill: colours.mark, stroke: "var(--card)" }),
          Plot.text([here], {
            x: "threshold", frameAnchor: "top", dy: -14, text: (d) => `${state.own} threshold: ${percent(d.threshold)}`, fill: colours.mark, fontWeight: 600,
            textAnchor: inText(here.threshold),
          }),
          tip(points, {
            x: "threshold", y: "regret",
            title: (d) => `threshold ${percent(d.threshold)}\nloss per row ${number(d.regret)}\nby chance up to ${number(d.null_high)}`,
          }, Plot.pointerX),
        ],
      },
    );
  }

  function strip(a, width, state) {
    const here = a.advice.thresholds[state.at];
    const on = axis([a.event_rate], [here.threshold]);
    const says = "forecast says", better = "better action";
    const { actions, order, thresholds } = a.task?.task ?? {};
    const [wait, act] = thresholds?.length === 1 ? order.map((i) => actions[i]) : ["wait", "act"];
    const name = { wait, act };
    const bars = [
      { row: says, from: 0, to: here.threshold, do: "wait" }, { row: says, from: here.threshold, to: 1, do: "act" },
      { row: better, from: 0, to: here.threshold, do: "wait" }, { row: better, from: here.threshold, to: 1, do: "act" },
      ...here.swaps.map((s) => ({ row: better, from: s.low, to: s.high, do: s.do, swap: true })),
    ];
    const scale = on.scale("predicted probability"), { domain } = scale;
    const ends = { x1: (d) => on.at(d.from), x2: (d) => on.at(d.to) };
    const said = (d) => `${d.row}: ${name[d.do]} from ${percent(d.from)} to ${percent(d.to)}`;
    const fill = (d) => (d.do === "act" ? colours.mark : colours.band);
    const wide = bars.filter((d) => !d.swap && d.row === says && ((on.at(d.to) - on.at(d.from)) / (domain[1] - domain[0])) * width > 7 * name[d.do].length + 20);
    const words = here.swaps.map((s) => `${name[s.do]} from ${percent(s.low)} to ${percent(s.high)}`);
    return plot(`The forecast says: ${wait} below ${percent(here.threshold)}, then ${act}. Proven better: ${words.join(", ") || "nothing else"}.`, width, {
      height: 104, marginLeft: 100, marginTop: 4, marginBottom: 36, x: scale, y: { domain: [says, better], label: null, tickSize: 0 },
      marks: [
        Plot.barX(bars, { ...ends, y: "row", fill, insetTop: 2, insetBottom: 2, title: said }),
        Plot.barX(bars.filter((d) => d.swap), { ...ends, y: "row", fill: "none", stroke: colours.ink, strokeWidth: 1, insetTop: 2, insetBottom: 2, title: said }),
        Plot.text(wide, { x: (d) => (on.at(d.from) + on.at(d.to)) / 2, y: "row", text: (d) => name[d.do], fill: (d) => (d.do === "act" ? "var(--card)" : colours.ink), fontWeight: 600 }),
      ],
    });
  }

  function profile(a, width) {
    const { grids: m, losses, reciprocals, m_star } = a.profile;
    const all = m.map((size, i) => ({ size, loss: losses[i], width: reciprocals[i] }));
    const points = all.filter((d) => d.size <= Math.max(2 ** 16, 4 * (m_star ?? 0))); // beyond, a perfect forecast is flat
    return plot(`SCDL on each grid against the width of the grid${m_star ? `; they cross at 1/${m_star}` : ""}.`, width, {
      height: Math.min(width, 400), marginTop: 26, marginRight: 20,
      x: { type: "log", base: 2, label: "m (grid 1/m)", labelAnchor: "center", labelArrow: "none", ticks: m.filter((_, i) => i % Math.ceil(points.length / 8) === 0 && i < points.length), tickFormat: (d) => (d < 1e4 ? String(d) : `2^${Math.log2(d)}`) },
      y: upward("SCDL, and 1/m", { type: "sqrt", domain: [0, Math.max(0.5, ...losses)] }),
      marks: [
        ...(m_star ? [Plot.ruleX([m_star], { stroke: colours.mark, strokeDasharray: "4 3" }), Plot.text([m_star], { x: (d) => d, frameAnchor: "top", dy: -14, text: (d) => `m* = ${d}`, fill: colours.mark, fontWeight: 600, textAnchor: m_star < m[2] ? "start" : "middle" })] : []),
        Plot.line(points, { x: "size", y: "width", stroke: colours.soft, strokeDasharray: "6 3", strokeWidth: 1.5 }),
        Plot.line(points, { x: "size", y: "loss", stroke: colours.forecast, strokeWidth: 2, marker: "dot" }),
        tip(points, { x: "size", y: "loss", title: (d) => `grid 1/${d.size}\nSCDL ${number(d.loss)}\n1/m ${number(d.width)}` }, Plot.pointerX),
      ],
    });
  }

  function intervals(label, data, width, options) {
    const longest = Math.max(...data.map((d) => d.label.length));
    const marginLeft = Math.min(Math.max(60, 7.2 * longest + 14), width * 0.4);
    return plot(label, width, {
      height: 24 * data.length + 62, marginLeft, marginTop: 8,
      x: { label: options.label ?? "value (0 is perfect)", labelAnchor: "center", labelArrow: "none", grid: true, nice: true, tickFormat: options.tickFormat, domain: [0, top(data.map((d) => Math.max(d.value ?? 0, d.high ?? 0)))], ticks: width < 500 ? 4 : 8 },
      y: { type: "band", domain: data.map((d) => d.key), label: null, axis: null, tickSize: 0 },
      marks: [
        Plot.axisY({ tickFormat: (k) => data[k].label, lineWidth: (marginLeft - 14) / 12, textOverflow: "ellipsis", tickSize: 0 }),
        Plot.ruleY(data.filter((d) => d.low !== null && d.high !== null), { x1: "low", x2: "high", y: "key", stroke: "colour", strokeWidth: 2 }),
        Plot.dot(data, { x: "value", y: "key", fill: "colour", r: 4.5 }),
        Plot.dot(data.filter((d) => d.picked), { x: "value", y: "key", r: 9, stroke: colours.ink, strokeWidth: 2 }),
        tip(data, { x: "value", y: "key", title: (d) => d.said ?? `${d.label}\n${number(d.value)}${d.low === null ? "" : ` (${number(d.low)} to ${number(d.high)})`}` }, Plot.pointerY),
      ],
    });
  }

  function measures(a, width) {
    const data = a.measures.filter((d) => !d.score && d.value !== null).map((d, key) => ({ ...d, key, label: d.symbol, low: null, high: null, colour: colours.forecast }));
    return intervals("The measures on these rows; the table below has the numbers.", data, width, {});
  }

  const RULES = {
    "as is": "as they are", recalibrated: "recalibrated", "cut-off": "best cut-off", always: "always act", never: "never act",
    perfect: "perfect foresight",
  };
  // Of the stated decision with intervals; of costs that were entered on the page, the same numbers as its words.
  function costs(a, width, state) {
    const found = state.stated ? a.task.costs : Object.fromEntries(Object.entries(state.entered).map(([rule, value]) => [rule, { value, low: null, high: null }]));
    const data = Object.entries(found).map(([rule, cost], key) => ({ ...cost, key, label: state.stated && a.task.capacity !== null && rule === "always" ? "Act at random" : RULES[rule] ?? `always '${a.task.fixed_action}'`, colour: key < 2 ? colours.forecast : colours.quiet }));
    return intervals("The cost per case by rule; the table below has the numbers.", data, width, { label: "cost per case" });
  }

  function segments(a, width, state) {
    const shown = state.shown.map((i, key) => {
      const d = a.segments.rows[i];
      const colour = d.flagged ? colours.bad : colours.forecast;
      const label = d.label.length > 40 ? `${d.label.slice(0, 37)}...` : d.label;
      const said = `${label}\nloss ${percent(d.loss)} on these rows, at most ${percent(d.loss_bound)}\n${d.n.toLocaleString("en")} rows\n${d.status}`;
      return { label, key, colour, said, value: d.loss, low: d.loss, high: d.loss_bound, picked: i === state.segment };
    });
    return intervals("The loss in each segment and its bound; the table below has the numbers.", shown, width, { label: "loss, as a share of what is at stake", tickFormat: percent });
  }

  function together({ assessments }, width) {
    const on = axis(assessments.map((a) => a.event_rate), assessments.flatMap((a) => a.reliability.null_mean));
    const scale = on.scale("mean prediction"), [low, high] = scale.domain;
    const lines = assessments.map((a) => a.reliability.null_mean.map((x, k) => ({ x: on.at(x), y: on.at(a.reliability.event_rate[k]), name: a.name })));
    return plot("The reliability diagrams of all forecasts.", width, {
      height: Math.min(width, 236), marginLeft: 52, marginTop: 26, marginBottom: 34, x: scale,
      y: { ...upward("event rate"), ...on.scale("event rate"), labelAnchor: "top" },
      marks: [
        Plot.line([[low, low], [high, high]], { stroke: colours.soft, strokeWidth: 1 }),
        ...lines.map((d, i) => Plot.line(d, { x: "x", y: "y", stroke: models[i % 6], strokeDasharray: dashes[i % 6], strokeWidth: 2 })),
        tip(lines.flat(), { x: "x", y: "y", title: (d) => `${d.name}\nsays ${percent(on.back(d.x))}, happens ${percent(on.back(d.y))}` }),
      ],
    });
  }

  const charts = {
    value, reliability, histogram, regret, strip, profile, measures, costs, segments, "all-reliability": together,
    "all-value": (s, width, state) => decisionCurves("The decision curves of all forecasts", s.assessments, width, Math.min(width, 236), state),
  };
  return { charts, colours, models, dashes, number, money, percent, rows, plot, tip, axis, upward, mapOf, PALE_ROWS };
})();
