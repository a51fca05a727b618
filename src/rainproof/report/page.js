// The slider, the pickers, sorting, downloads and the theme. Values are looked up and shown as text.
"use strict";
(() => {
  const { charts, number, money, percent, models, dashes } = globalThis.rainproof;
  const data = JSON.parse(document.getElementById("data").textContent);
  const assessments = data.result === "assessment_set" ? data.assessments : [data];
  const more = JSON.parse(document.getElementById("more").textContent);
  const SHOWN_SEGMENTS = 40;

  // A chart is drawn when it has a width, and again when the width changes.
  const drawn = new Map();
  function draw(box) {
    const { subject, state, width } = drawn.get(box);
    if (width > 0) box.replaceChildren(charts[box.dataset.chart](subject, width, state));
  }
  const watch = new ResizeObserver((entries) => {
    for (const { target, contentRect } of entries) {
      const known = drawn.get(target);
      if (Math.abs(contentRect.width - known.width) < 1) continue;
      known.width = contentRect.width;
      draw(target);
    }
  });
  function watchChart(box, subject, state) {
    drawn.set(box, { subject, state, width: 0 });
    watch.observe(box);
  }

  function nearest(thresholds, mu) {
    let best = 0;
    thresholds.forEach((t, i) => { if (Math.abs(t.threshold - mu) < Math.abs(thresholds[best].threshold - mu)) best = i; });
    return best;
  }

  function ratio(cost) {
    if (cost === 1) return "a false alarm costs as much as a miss";
    return cost > 1 ? `a false alarm costs ${number(cost)} times a miss` : `a miss costs ${number(1 / cost)} times a false alarm`;
  }

  // Costs per case in the user's units at a threshold, where a false alarm and a miss together cost `total`.
  function costsByRule(a, { costs: c, at }, total) {
    const none = Math.min(c.always[at], c.never[at]);
    const found = { "as is": none - c.value[at], recalibrated: none - c.value_recalibrated[at], always: c.always[at], never: c.never[at], perfect: none - c.value_perfect[at] };
    if (!a.gain) delete found.recalibrated; // no map can be fitted
    return Object.fromEntries(Object.entries(found).map(([rule, cost]) => [rule, Math.max(0, cost) * total]));
  }
  const DOING = { "as is": "as they are", recalibrated: "recalibrated", always: "always acting", never: "never acting" };
  function inWords(found, { costs: c, at }) {
    const words = Object.entries(DOING).filter(([rule]) => rule in found).map(([rule, name]) => `${name} ${money(found[rule])}`);
    const benefit = `Net benefit: as they are ${money(c.net_benefit[at])}, always acting ${money(c.net_benefit_always[at])}, never acting 0.`;
    return `On these rows, cost per case in your units: ${words.join(", ")}. ${benefit}`;
  }

  // One decision for words and charts: the stated one, until other costs are entered.
  function decision(article, a, state) {
    const form = article.querySelector(".decision");
    const [slider, fp, fn] = ["slider", "cost-fp", "cost-fn"].map((name) => form.querySelector(`.${name}`));
    const thresholds = a.advice.thresholds;
    const follow = ["value", "regret", "strip", "costs"].map((name) => `[data-chart="${name}"]`).join(", ");
    const boxes = [...article.querySelectorAll(follow)];
    const stated = Object.keys(a.task?.costs ?? {}).length > 0;
    const one = a.task?.task.thresholds?.length === 1; // a decision that the slider can stand for
    slider.max = thresholds.length - 1;
    form.hidden = false;
    form.addEventListener("submit", (event) => event.preventDefault());

    function show(mu) {
      const here = thresholds[state.at];
      const total = state.stated && one ? whole : fp.valueAsNumber + fn.valueAsNumber;
      slider.value = state.at;
      slider.setAttribute("aria-valuetext", `${percent(here.threshold)}: ${ratio(here.cost_ratio)}`);
      const shown = [here.threshold, 1 - here.threshold].map((part) => number(part * total));
      const apart = Math.abs(mu - here.threshold) > 0.005 * Math.min(mu, 1 - mu);
      const near = !apart ? "" : ` Your costs make it ${number(100 * mu)}%; shown is the nearest threshold on this page: a false alarm of ${shown[0]}, a miss of ${shown[1]}.`;
      form.querySelector(".means").textContent = `${state.own === "example" ? "For example, act" : "Act"} from ${percent(here.threshold)} on: ${ratio(here.cost_ratio)}.${near}`;
      article.querySelector(".advice-text").textContent = here.text;
      state.entered = costsByRule(a, state, total);
      const other = state.stated && !(one && a.task.capacity === null); // its costs are those of no threshold alone
      article.querySelector(".advice-costs").textContent = other || !(total > 0) ? "" : inWords(state.entered, state);
      article.querySelectorAll(".as-stated").forEach((each) => (each.hidden = !state.stated));
      article.querySelectorAll(".as-entered").forEach((each) => (each.hidden = state.stated));
      boxes.forEach((box) => drawn.has(box) && draw(box));
    }
    function enter() {
      state.own = "your";
      state.stated = stated && one && fp.value === first[0] && fn.value === first[1];
    }
    function fromCosts() {
      const [falseAlarm, miss] = [fp, fn].map((input) => input.valueAsNumber);
      const { low, high } = a.guarantee.threshold_range ?? { low: 0, high: 1 }, mu = falseAlarm / (falseAlarm + miss);
      const ok = falseAlarm >= 0 && miss >= 0 && mu >= low && mu <= high;
      [fp, fn].forEach((input) => (ok ? input.removeAttribute("aria-invalid") : input.setAttribute("aria-invalid", "true")));
      if (!ok) return;
      enter();
      state.at = nearest(thresholds, mu);
      show(mu);
    }
    slider.addEventListener("input", () => {
      state.at = slider.valueAsNumber;
      const mu = thresholds[state.at].threshold;
      const total = fp.valueAsNumber + fn.valueAsNumber || 100;
      [fp.value, fn.value] = [mu * total, (1 - mu) * total].map((cost) => String(Number(cost.toPrecision(4))));
      [fp, fn].forEach((input) => input.removeAttribute("aria-invalid"));
      enter();
      show(mu);
    });
    [fp, fn].forEach((input) => input.addEventListener("input", fromCosts));

    const own = one ? a.task.task.thresholds[0] : thresholds[nearest(thresholds, a.event_rate)].threshold;
    const whole = one ? a.task.scale / Math.max(own, 1 - own) : 100;
    const first = [own * whole, (1 - own) * whole].map((cost) => String(Number(cost.toPrecision(4))));
    function start() {
      [fp.value, fn.value] = first;
      [fp, fn].forEach((input) => input.removeAttribute("aria-invalid"));
      state.own = one ? "your" : "example";
      state.stated = stated;
      state.at = nearest(thresholds, own);
      show(own);
    }
    article.querySelector(".stated")?.addEventListener("click", start);
    start();
  }

  // Net benefit, or the gain over the better of always and never acting: keys and captions follow.
  function curveSwitch(part, state) {
    const choice = part.querySelector(".switch");
    choice.hidden = false;
    choice.addEventListener("change", (event) => {
      state.gain = event.target.value === "gain";
      part.querySelectorAll("[data-when]").forEach((each) => (each.hidden = (each.dataset.when === "gain") !== state.gain));
      draw(part.querySelector('[data-chart$="value"]'));
    });
  }

  function segmentPicker(article, a, state) {
    const picker = article.querySelector(".segment-picker");
    if (!picker) return;
    const select = picker.querySelector("select");
    const words = article.querySelector(".segment-status");
    const found = a.segments.rows;
    const worst = found.map((_, i) => i).sort((i, j) => found[j].flagged - found[i].flagged || found[i].small - found[j].small || found[j].loss - found[i].loss || found[j].value - found[i].value);
    state.shown = worst.slice(0, SHOWN_SEGMENTS);
    state.segment = -1;
    picker.hidden = false;
    select.addEventListener("change", () => {
      state.segment = Number(select.value);
      if (state.segment >= 0 && !state.shown.includes(state.segment)) state.shown = [...worst.slice(0, SHOWN_SEGMENTS - 1), state.segment];
      words.textContent = state.segment < 0 ? "" : a.segments.rows[state.segment].status;
      article.querySelectorAll("table.segments tbody tr").forEach((row) => row.classList.toggle("picked", Number(row.dataset.row) === state.segment));
      draw(article.querySelector('[data-chart="segments"]'));
    });
  }

  function sortable(table) {
    const body = table.tBodies[0];
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        [...table.tHead.rows[0].cells].forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const key = (row) => row.cells[column].dataset.value ?? (row.cells[column].title || row.cells[column].textContent);
        const isNumber = head.classList.contains("number");
        const before = (x, y) => {
          if (!isNumber) return x.localeCompare(y, "en", { numeric: true });
          if (x === "" || y === "") return x === y ? 0 : (x === "") === down ? -1 : 1; // missing values stay last
          return Number(x) - Number(y);
        };
        body.replaceChildren(...[...body.rows].sort((r, s) => (down ? -1 : 1) * before(key(r), key(s))));
      });
    });
  }

  function save(name, type, text) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }
  function inViewer() {
    // A frame such as that of MLflow's viewer blocks downloads and printing without a word.
    const note = document.createElement("span");
    note.setAttribute("role", "status");
    note.textContent = " Nothing happened? This viewer blocks downloads and printing: open the page itself.";
    const buttons = document.querySelectorAll(".file, .save, #print, #save-json");
    buttons.forEach((button) => button.addEventListener("click", () => button.after(note)));
  }
  function csv(table) {
    // Text that a spreadsheet would take for a formula gets an apostrophe in front.
    const quoted = (text) => `"${(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
    const cell = (td) => (td.dataset.value === undefined ? quoted(td.title || td.textContent) : td.dataset.value);
    const heads = [...table.tHead.rows[0].cells].map((th) => quoted(th.textContent));
    return [heads, ...[...table.tBodies[0].rows].map((row) => [...row.cells].map(cell))].map((line) => line.join(",")).join("\r\n") + "\r\n";
  }
  function downloadable(table) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "save";
    button.textContent = "Download as CSV";
    button.setAttribute("aria-label", `Download as CSV: ${table.caption.textContent}`);
    button.addEventListener("click", () => save(`${table.dataset.name}.csv`, "text/csv;charset=utf-8", csv(table)));
    table.closest(".scroll").after(button);
  }

  function theme() {
    const button = document.getElementById("theme");
    const system = matchMedia("(prefers-color-scheme: dark)");
    const isDark = () => (document.documentElement.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
    const show = () => button.setAttribute("aria-pressed", String(isDark()));
    button.addEventListener("click", () => { document.documentElement.dataset.theme = isDark() ? "light" : "dark"; show(); });
    system.addEventListener("change", show);
    show();
  }

  function modelPicker() {
    const picker = document.getElementById("model-picker");
    if (!picker) return;
    const articles = [...document.querySelectorAll("article.assessment")];
    const show = (at) => articles.forEach((article, i) => (article.hidden = i !== at));
    picker.hidden = false;
    picker.querySelector("select").addEventListener("change", (event) => show(Number(event.target.value)));
    show(0);
    const legend = document.querySelector(".legend");
    assessments.forEach((a, i) => {
      const item = document.createElement("li");
      const line = d3.create("svg").attr("width", 34).attr("height", 12).attr("aria-hidden", "true");
      line.append("path").attr("d", "M0,6H34").attr("stroke", models[i % 6]).attr("stroke-width", 3).attr("stroke-dasharray", dashes[i % 6]);
      item.append(line.node(), document.createTextNode(a.name));
      legend.append(item);
    });
    const state = {};
    curveSwitch(document.querySelector(".compared"), state);
    document.querySelectorAll('[data-chart^="all-"]').forEach((box) => watchChart(box, data, state));
  }

  document.querySelectorAll(".tools").forEach((tools) => (tools.hidden = false));
  document.querySelectorAll("table[data-name]").forEach((table) => { sortable(table); downloadable(table); });
  document.querySelectorAll("article.assessment").forEach((article, i) => {
    const state = { costs: more[i].costs };
    article.querySelectorAll("button.file").forEach((button) => button.addEventListener("click", () => save(button.dataset.file, "application/json", more[i].files[button.dataset.file])));
    decision(article, assessments[i], state);
    curveSwitch(article, state);
    segmentPicker(article, assessments[i], state);
    article.querySelectorAll(".chart").forEach((box) => watchChart(box, assessments[i], state));
  });
  modelPicker();
  theme();
  document.getElementById("print").addEventListener("click", () => print());
  document.getElementById("save-json").addEventListener("click", () => save("report.json", "application/json", JSON.stringify(data, null, 1)));
  if (self !== top && origin === "null") inViewer();
  document.documentElement.dataset.ready = "yes";
})();
