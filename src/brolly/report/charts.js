// The charts. Each function takes an assessment, the width in pixels and the state of the page, and returns an SVG.
// Nothing is computed here: the numbers are those of the page's data.
"use strict";
globalThis.brolly = (() => {
  const colours = {
    forecast: "var(--forecast)", mark: "var(--mark)", band: "var(--band)", quiet: "var(--quiet)", ink: "var(--ink)",
    soft: "var(--soft)", said: "var(--said)", bad: "var(--bad)", good: "var(--good)",
  };
  const models = ["var(--forecast)", "var(--mark)", "var(--good)", "var(--care)", "var(--bad)", "var(--quiet)"];
  const dashes = ["none", "6 3", "2 3", "8 3 2 3", "1 4", "12 4"];

  const number = (x) => (x === null || x === undefined ? "unknown" : x === 0 ? "0" : Number(x.toPrecision(3)).toString());
  const percent = (x) => (x === null || x === undefined ? "unknown" : `${Number((100 * x).toPrecision(3))}%`);
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
  const probability = (label) => ({ domain: [0, 1], label, labelAnchor: "center", labelArrow: "none" });
  const top = (...heights) => Math.max(...heights.flat()) || 0.01; // a chart of zeros needs some height
  const upward = (label, more) => ({ label, labelArrow: "none", grid: true, nice: true, ticks: 6, ...more });

  function reliability(a, width) {
    const { grid, method, ...columns } = a.reliability;
    const bins = rows(columns);
    const height = Math.min(width, 400);
    return plot(
      `Reliability diagram: the event rate at ${bins.length} predicted probabilities; the table below has the numbers.`,
      width,
      {
        height, x: probability("predicted probability"), y: { ...upward("event rate"), domain: [0, 1] },
        marks: [
          Plot.areaY(bins, { x: "prediction", y1: "null_low", y2: "null_high", fill: colours.band }),
          ...(bins.length === 1 ? [Plot.ruleX(bins, { x: "prediction", y1: "null_low", y2: "null_high", stroke: colours.band, strokeWidth: 9 })] : []),
          Plot.line([[0, 0], [1, 1]], { stroke: colours.soft, strokeDasharray: "4 3" }),
          Plot.ruleX(bins, { x: "prediction", y1: "low", y2: "high", stroke: colours.forecast, strokeWidth: 1.5 }),
          Plot.dot(bins, { x: "prediction", y: "event_rate", r: 3.5, fill: colours.forecast, stroke: "var(--card)" }),
          tip(bins, {
            x: "prediction", y: "event_rate",
            title: (d) => `prediction ${number(d.prediction)}, event rate ${number(d.event_rate)}\ninterval ${number(d.low)} to ${number(d.high)}\n${percent(d.share)} of the rows`,
          }, Plot.pointerX),
        ],
      },
    );
  }

  function histogram(a, width) {
    const { edges, share, share_events } = a.histogram;
    const bars = share.map((s, i) => ({ low: edges[i], high: edges[i + 1], share: s, events: share_events[i] }));
    return plot("The distribution of the predictions.", width, {
      height: 120, marginTop: 24, x: probability("predicted probability"), y: upward("share of rows", { ticks: 3, tickFormat: percent }),
      marks: [
        Plot.rectY(bars, { x1: "low", x2: "high", y: "share", fill: colours.said, inset: 0.3 }),
        Plot.rectY(bars, { x1: "low", x2: "high", y: "events", fill: colours.forecast, inset: 0.3 }),
        Plot.ruleY([0], { stroke: colours.soft }),
        tip(bars, {
          x: (d) => (d.low + d.high) / 2, y: "share",
          title: (d) => `predictions ${number(d.low)} to ${number(d.high)}\n${percent(d.share)} of the rows\n${percent(d.events)} with the event`,
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
      `Regret curve: highest at the threshold ${number(worst.threshold)} with ${number(worst.regret)}; at yours, ${number(here.threshold)}, it is ${number(here.regret)}.`,
      width,
      {
        height: Math.min(340, Math.max(240, width * 0.5)), marginTop: 26,
        x: probability("threshold"), y: upward("loss per row", { insetTop: 20, domain: [0, top(curve.regret, curve.null_high)] }),
        marks: [
          Plot.areaY(curve.null_threshold, { x: curve.null_threshold, y: curve.null_high, fill: colours.band }),
          Plot.line(curve.threshold, { x: curve.threshold, y: curve.regret, stroke: colours.forecast, strokeWidth: 2 }),
          Plot.ruleY([0], { stroke: colours.soft }),
          Plot.dot(highest, { x: "threshold", y: "regret", symbol: "diamond", r: 5, fill: colours.ink }),
          Plot.text(highest, { x: "threshold", y: "regret", text: (d) => `largest at ${number(d.threshold)}`, dy: -12, textAnchor: inText(worst.threshold), fill: colours.ink }),
          Plot.ruleX([here], { x: "threshold", stroke: colours.mark, strokeDasharray: "4 3" }),
          Plot.dot([here], { x: "threshold", y: "regret", r: 6, fill: colours.mark, stroke: "var(--card)", className: "mark" }),
          Plot.text([here], {
            x: "threshold", frameAnchor: "top", dy: -14, text: (d) => `your threshold: ${number(d.threshold)}`, fill: colours.mark, fontWeight: 600,
            textAnchor: inText(here.threshold),
          }),
          tip(points, {
            x: "threshold", y: "regret",
            title: (d) => `threshold ${number(d.threshold)}\nloss per row ${number(d.regret)}\nby chance up to ${number(d.null_high)}`,
          }, Plot.pointerX),
        ],
      },
    );
  }

  function strip(a, width, state) {
    const here = a.advice.thresholds[state.at];
    const says = "forecast", better = "better";
    const bars = [
      { row: says, from: 0, to: here.threshold, do: "wait" }, { row: says, from: here.threshold, to: 1, do: "act" },
      { row: better, from: 0, to: here.threshold, do: "wait" }, { row: better, from: here.threshold, to: 1, do: "act" },
      ...here.swaps.map((s) => ({ row: better, from: s.low, to: s.high, do: s.do, swap: true })),
    ];
    const said = (d) => `${d.row}: ${d.do} from ${number(d.from)} to ${number(d.to)}`;
    const fill = (d) => (d.do === "act" ? colours.mark : colours.band);
    const wide = bars.filter((d) => !d.swap && d.row === says && (d.to - d.from) * width > 60);
    const words = here.swaps.map((s) => `${s.do} from ${number(s.low)} to ${number(s.high)}`);
    return plot(`The forecast says: wait below ${number(here.threshold)}, then act. Proven better: ${words.join(", ") || "nothing else"}.`, width, {
      height: 104, marginLeft: 88, marginTop: 4, marginBottom: 36, x: probability("predicted probability"), y: { domain: [says, better], label: null, tickSize: 0 },
      marks: [
        Plot.barX(bars, { x1: "from", x2: "to", y: "row", fill, insetTop: 2, insetBottom: 2, title: said }),
        Plot.barX(bars.filter((d) => d.swap), { x1: "from", x2: "to", y: "row", fill: "none", stroke: colours.ink, strokeWidth: 1, insetTop: 2, insetBottom: 2, title: said }),
        Plot.text(wide, { x: (d) => (d.from + d.to) / 2, y: "row", text: "do", fill: (d) => (d.do === "act" ? "var(--card)" : colours.ink), fontWeight: 600 }),
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
      x: { label: "value (0 is perfect)", labelAnchor: "center", labelArrow: "none", grid: true, nice: true, domain: [0, top(data.map((d) => Math.max(d.value, d.high ?? 0)))], ticks: width < 500 ? 4 : 8 },
      y: { type: "band", domain: data.map((d) => d.key), label: null, axis: null, tickSize: 0 },
      marks: [
        Plot.axisY({ tickFormat: (k) => data[k].label, lineWidth: (marginLeft - 14) / 12, textOverflow: "ellipsis", tickSize: 0 }),
        ...(options.null ? [Plot.tickX(data, { x: "null_mean", y: "key", stroke: colours.quiet, strokeWidth: 3, insetTop: 5, insetBottom: 5 })] : []),
        Plot.ruleY(data.filter((d) => d.low !== null && d.high !== null), { x1: "low", x2: "high", y: "key", stroke: "colour", strokeWidth: 2 }),
        Plot.dot(data, { x: "value", y: "key", fill: "colour", r: 4.5 }),
        Plot.dot(data.filter((d) => d.picked), { x: "value", y: "key", r: 9, stroke: colours.ink, strokeWidth: 2 }),
        tip(data, { x: "value", y: "key", title: (d) => `${d.label}\n${number(d.value)}${d.low === null ? "" : ` (${number(d.low)} to ${number(d.high)})`}${d.more ?? ""}` }, Plot.pointerY),
      ],
    });
  }

  function measures(a, width) {
    const data = a.measures.filter((d) => !d.score && d.value !== null).map((d, key) => ({ ...d, key, label: d.symbol, colour: colours.forecast }));
    return intervals("The measures with their intervals; the table below has the numbers.", data, width, {});
  }

  function segments(a, width, state) {
    const shown = state.shown.map((i, key) => {
      const d = a.segments.rows[i];
      const colour = d.flagged ? colours.bad : d.small ? colours.quiet : colours.forecast;
      const label = d.label.length > 40 ? `${d.label.slice(0, 37)}...` : d.label;
      return { ...d, label, key, colour, picked: i === state.segment, more: `\n${d.n.toLocaleString("en")} rows\n${d.status}` };
    });
    return intervals("The segments with their intervals; the table below has the numbers.", shown, width, { null: true });
  }

  function together(set, width, what) {
    const lines = set.assessments.flatMap((a, i) =>
      what === "regret"
        ? a.regret.threshold.map((x, k) => ({ x, y: a.regret.regret[k], i, name: a.name }))
        : a.reliability.prediction.map((x, k) => ({ x, y: a.reliability.event_rate[k], i, name: a.name })),
    );
    const many = d3.group(lines, (d) => d.i);
    const regret = what === "regret";
    return plot(regret ? "The regret curves of all forecasts." : "The reliability diagrams of all forecasts.", width, {
      height: regret ? 300 : Math.min(width, 380), x: probability(regret ? "threshold" : "predicted probability"),
      y: upward(regret ? "loss per row" : "event rate", { domain: regret ? [0, top(lines.map((d) => d.y))] : [0, 1] }),
      marks: [
        regret ? Plot.ruleY([0], { stroke: colours.soft }) : Plot.line([[0, 0], [1, 1]], { stroke: colours.soft, strokeWidth: 1 }),
        ...Array.from(many, ([i, d]) => Plot.line(d, { x: "x", y: "y", stroke: models[i % 6], strokeDasharray: dashes[i % 6], strokeWidth: 2 })),
        tip(lines, { x: "x", y: "y", title: (d) => `${d.name}\n${number(d.x)}: ${number(d.y)}` }),
      ],
    });
  }

  const charts = { reliability, histogram, regret, strip, profile, measures, segments, "all-regret": (s, w) => together(s, w, "regret"), "all-reliability": (s, w) => together(s, w, "reliability") };
  return { charts, number, models, dashes };
})();
