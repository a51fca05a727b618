// The charts of the clinical preset: calibration plot, risk distribution. Nothing is estimated here.
"use strict";
(() => {
  const { charts, colours, percent, rows, plot, tip, axis, upward, mapOf, PALE_ROWS } = globalThis.rainproof;

  function calibration(a, width) {
    const { grid, method, ...columns } = a.clinical.reliability;
    const bins = rows(columns);
    const on = axis([a.event_rate], bins.map((d) => d.null_mean));
    const x = (d) => on.at(d.null_mean), y = (name) => (d) => on.at(d[name]);
    const [low, high] = on.scale("").domain;
    const many = bins.filter((d) => d.rows >= PALE_ROWS);
    const joined = many.length > 1 ? many : bins; // a line through points of a few rows would say nothing
    return plot("Calibration plot: the smoothed event rate against the predicted risk; the table below has the numbers.", width, {
      height: Math.max(250, Math.min(330, width * 0.8)), marginTop: 26, marginLeft: 52, x: on.scale("predicted risk"),
      y: { ...upward("event rate", { nice: false }), ...on.scale("event rate"), labelAnchor: "top", ticks: on.scale("").ticks ?? 6 },
      marks: [
        Plot.areaY(joined, { x, y1: y("low"), y2: y("high"), fill: colours.said, fillOpacity: 0.45 }),
        Plot.line([[low, low], [high, high]], { stroke: colours.quiet, strokeDasharray: "4 3" }),
        Plot.line(joined, { x, y: y("event_rate"), stroke: colours.forecast, strokeWidth: 2 }),
        Plot.line(mapOf(a, on), { x: "x", y: "y", stroke: colours.good, strokeWidth: 2, strokeDasharray: "7 3" }),
        Plot.dot(bins, { x, y: y("event_rate"), r: bins.length > 40 ? 1.5 : 3, fill: colours.forecast, fillOpacity: (d) => (d.rows < PALE_ROWS ? 0.35 : 1) }),
        tip(bins, {
          x, y: y("event_rate"),
          title: (d) => `mean predicted risk ${percent(d.null_mean)}\nevent rate ${percent(d.event_rate)} (${percent(d.low)} to ${percent(d.high)})\n${percent(d.share)} of the rows`,
        }, Plot.pointerX),
      ],
    });
  }

  function risks(a, width) {
    const { edges, share, share_events } = a.clinical.risk_distribution;
    const all = share.map((s, i) => ({ low: edges[i], high: edges[i + 1], events: share_events[i], without: Math.max(0, s - share_events[i]), some: s > 0 }));
    const [first, last] = [all.findIndex((d) => d.some), all.findLastIndex((d) => d.some)];
    const bars = all.length > 64 ? all.slice(first, last + 1) : all; // narrow bars: of risks that are all low, or all high
    const [most, rest] = ["events", "without"].map((side) => Math.max(...bars.map((d) => d[side])) || 1);
    const ends = { x1: "low", x2: "high", inset: bars.length > width / 5 ? 0 : 0.3 };
    return plot("The distribution of predicted risks, by outcome.", width, {
      height: 230, marginTop: 10, marginLeft: 20,
      x: { ...axis([0.5]).scale("predicted risk"), domain: [bars[0].low, bars[bars.length - 1].high], ticks: Math.min(10, width / 60) }, y: { axis: null, domain: [-1.25, 1.25] },
      marks: [
        Plot.rectY(bars, { ...ends, y1: 0, y2: (d) => d.events / most, fill: colours.forecast }),
        Plot.rectY(bars, { ...ends, y1: 0, y2: (d) => -d.without / rest, fill: colours.mark }),
        Plot.ruleY([0], { stroke: colours.soft }),
        Plot.text(["with the event"], { frameAnchor: "top-right", text: (d) => d, fill: colours.forecast, fontWeight: 600 }),
        Plot.text(["without"], { frameAnchor: "bottom-right", dy: -4, text: (d) => d, fill: colours.mark, fontWeight: 600 }),
        tip(bars, {
          x: (d) => (d.low + d.high) / 2, y: 0,
          title: (d) => `risk ${percent(d.low)} to ${percent(d.high)}\n${percent(d.events)} of the rows: with the event\n${percent(d.without)}: without`,
        }, Plot.pointerX),
      ],
    });
  }

  Object.assign(charts, { calibration, risks });
})();
