// The panels over time: one for each measure, with a shared cursor and zoom, and lines switched on and off by chips.
(function panels() {
  "use strict";
  const source = document.getElementById("series");
  if (!source) return;
  const data = JSON.parse(source.textContent);
  const place = document.getElementById("panels");
  const scenario = place.dataset.scenario;
  const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3], [4, 2], [1, 2]];
  const PHASES = ["#E69F00", "#CC79A7", "#d3e3ee", "#0072B2"];
  const INK = "#222222", MUTED = "#666666", GRID = "#e4e4e4";
  const MOST_MARKS = 40, MOST_STRIPS = 6, STRIP = 7;
  const FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";

  for (const run of data.runs) for (const curve of run.curves) decode(curve);
  const longest = Math.max(...data.runs.map((run) => run.duration_s));
  const FLOWS = -1;  // compared are the flows of one run
  const start = data.axes.map((axis, n) => axis.values.indexOf(data.runs[0].at[n]));
  const state = { compare: data.flows.length > 2 ? FLOWS : firstAxis(), fixed: start, zoom: [0, longest], off: new Set() };
  let shown = [];

  /** Differences → times in seconds, strictly rising, and values; null is a gap. */
  function decode(curve) {
    let time = 0, value = 0, last = -Infinity;
    curve.times = curve.t.map((step) => {
      time += step;
      last = Math.max(time * data.tick_s, last + 1e-7);
      return last;
    });
    const scale = curve.unit < 1 ? Math.round(1 / curve.unit) : 1 / curve.unit;
    curve.values = curve.v.map((step) => (step === null ? null : (value += step) / scale));
    curve.t = curve.v = null;
  }

  function firstAxis() {
    const several = data.axes.map((axis, number) => [axis, number]).filter(([axis]) => axis.values.length > 1);
    return (several.find(([axis]) => axis.path !== "case") ?? several[0] ?? [null, FLOWS])[1];
  }

  function make(kind, attributes = {}, ...children) {
    const made = document.createElement(kind);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  function sample(colour, dash) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    for (const [key, value] of Object.entries({ width: 26, height: 8, viewBox: "0 0 26 8", "aria-hidden": "true" })) svg.setAttribute(key, value);
    const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
    const look = { d: "M1 4H25", stroke: colour, "stroke-width": 3, "stroke-dasharray": dash.join(" ") };
    for (const [key, value] of Object.entries(look)) line.setAttribute(key, value);
    svg.append(line);
    return svg;
  }

  // What is selected -----------------------------------------------------------------------------------------------

  /** The runs that differ from the selection in the compared axis alone, in that axis's order. */
  function variants() {
    const axis = data.axes[state.compare];
    const fits = (run) => data.axes.every((other, n) => n === state.compare || run.at[n] === other.values[state.fixed[n]]);
    if (!axis) return data.runs.filter(fits).map((run) => ({ run, label: run.suspect ? "suspect" : "", colour: null, key: "" }));
    return axis.values.flatMap((value, number) => {
      const run = data.runs.find((one) => fits(one) && one.at[state.compare] === value);
      return run ? [{ run, label: value + (run.suspect ? " (suspect)" : ""), colour: axis.colours[number], key: value }] : [];
    });
  }

  function lines(measure, chosen) {
    const several = chosen.length > 1;
    return chosen.flatMap((variant) =>
      variant.run.curves.filter((curve) => curve.m === measure).map((curve) => {
        const flow = curve.f < 0 ? "" : data.flows[curve.f];
        return {
          curve, variant, flow,
          colour: several ? variant.colour : curve.f < 0 ? INK : data.flow_colours[curve.f],
          dash: several && curve.f > 0 ? DASHES[curve.f % DASHES.length] : [],
          label: [several ? variant.label : "", data.flows.length > 1 || !several ? flow : "", !several && variant.label].filter(Boolean).join(" · ") || "queue",
        };
      }),
    );
  }

  const isOn = (line) => !state.off.has(`variant ${line.variant.key}`) && !(line.flow && state.off.has(`flow ${line.flow}`));

  /** Where the selection stands on the axes that are not compared, in words. */
  const standing = () => data.axes.flatMap((axis, n) => (n === state.compare || axis.values.length < 2 ? [] : [`${axis.title} ${axis.values[state.fixed[n]]}`]));

  // Controls -------------------------------------------------------------------------------------------------------

  function controls(chosen) {
    const bar = make("div", { class: "bar" });
    const several = data.axes.flatMap((axis, n) => (axis.values.length > 1 ? [n] : []));
    const flows = data.flows.length > 1 ? [[FLOWS, "flows of one run"]] : [];
    if (several.length + flows.length > 1) {
      bar.append(choice("Compare", [...several.map((n) => [n, data.axes[n].title]), ...flows], state.compare, (n) => (state.compare = n)));
      for (const n of several)
        if (n !== state.compare)
          bar.append(choice(data.axes[n].title, data.axes[n].values.map((value, i) => [i, value]), state.fixed[n], (i) => (state.fixed[n] = i)));
    }
    const zoom = make("span", { class: "zoom save", role: "group", "aria-label": "Zoom of all panels" });
    const steps = [["−", "Zoom out", () => scale(2)], ["+", "Zoom in", () => scale(0.5)], ["◀", "Earlier", () => shift(-0.25)], ["▶", "Later", () => shift(0.25)], ["Whole run", "Show the whole run", () => zoomTo(0, longest)]];
    for (const [text, title, act] of steps) {
      const button = make("button", { type: "button", title, "aria-label": title, "data-zoom": title }, text);
      button.addEventListener("click", act);
      zoom.append(button);
    }
    bar.append(zoom);
    return [bar, ...chips(chosen)];
  }

  function choice(title, options, chosen, act) {
    const select = make("select", { "aria-label": title });
    for (const [value, text] of options) {
      const option = make("option", { value }, text);
      option.selected = value === chosen;
      select.append(option);
    }
    select.addEventListener("change", () => {
      act(Number(select.value));
      build();
      [...place.querySelectorAll("select")].find((one) => one.getAttribute("aria-label") === title)?.focus();
    });
    return make("label", {}, title, " ", select);
  }

  function chips(chosen) {
    const rows = [];
    const several = chosen.length > 1;
    if (several) {
      const entries = chosen.map((variant) => [`variant ${variant.key}`, variant.label, sample(variant.colour, [])]);
      rows.push(chipRow(data.axes[state.compare].title, entries));
    }
    if (data.flows.length > 1) {
      const entries = data.flows.map((flow, n) => [`flow ${flow}`, flow, sample(several ? INK : data.flow_colours[n], several ? DASHES[n % DASHES.length] : [])]);
      rows.push(chipRow("flow", entries));
    }
    return rows;
  }

  function chipRow(title, entries) {
    const row = make("div", { class: "chips", role: "group", "aria-label": `Lines shown, by ${title}` }, make("span", { class: "title" }, title));
    for (const [key, label, look] of entries) {
      const chip = make("button", { type: "button", class: "chip", "aria-pressed": String(!state.off.has(key)), "data-key": key }, look, label);
      chip.addEventListener("click", () => {
        if (!state.off.delete(key)) state.off.add(key);
        chip.setAttribute("aria-pressed", String(!state.off.has(key)));
        for (const panel of shown) refresh(panel);
      });
      row.append(chip);
    }
    return row;
  }

  // Panels ---------------------------------------------------------------------------------------------------------

  function build() {
    for (const panel of shown) panel.plot.destroy();
    watcher.disconnect();
    shown = [];
    const chosen = variants();
    place.replaceChildren(...controls(chosen));
    if (!chosen.length) {
      place.append(make("p", { class: "note" }, "There is no run to show at this combination."));
      return;
    }
    const marks = changes(chosen);
    if (marks.text) place.append(make("p", { class: "note" }, marks.text));
    data.measures.forEach((measure, number) => {
      const drawn = lines(number, chosen);
      if (drawn.length) shown.push(panel(measure, drawn, marks.at, chosen[0].run));
    });
  }

  /** The moments at which something changes, if they are the same in all runs shown, and what to say about them. */
  function changes(chosen) {
    const sets = new Set(chosen.map((variant) => JSON.stringify(variant.run.changes)));
    const all = chosen[0].run.changes;
    const warm = chosen[0].run.warmup_s > 0 ? ["Grey: warm-up, left out of the metrics."] : [];
    if (sets.size > 1) return { at: [], text: [...warm, "What changes during the run is not marked: it differs between these runs."].join(" ") };
    const at = [...new Set(all.map(([time]) => time))];
    if (at.length > MOST_MARKS) return { at: [], text: [...warm, `The ${at.length} changes of the links are not marked: there are too many.`].join(" ") };
    const words = all.slice(0, 6).map(([time, what]) => `${format(time)} s ${what}`);
    if (all.length > words.length) words.push(`and ${all.length - words.length} more, listed in the set-up`);
    return { at, text: [...warm, ...(words.length ? [`Dashed: ${words.join("; ")}.`] : [])].join(" ") };
  }

  function panel(measure, drawn, marks, run) {
    const figure = make("figure", { class: "panel", "data-name": `${scenario}-${measure.key}` });
    const strips = measure.key === "cwnd" ? phaseStrips(drawn) : [];
    const about = `${measure.how}${measure.log ? "; logarithmic axis" : ""}`;
    const area = make("div", { class: "plot", tabindex: "0", role: "img", "aria-label": `${measure.title} over time in ${measure.unit}, ${drawn.length} lines. Arrow keys move the cursor, plus and minus zoom, zero shows the whole run.` });
    const readout = make("div", { class: "readout" });
    const save = make("span", { class: "save" });
    figure.append(make("h3", {}, `${measure.title} (${measure.unit}) `, make("small", {}, about)));
    if (strips.length) figure.append(phaseLegend());
    figure.append(area, make("figcaption", {}, readout, save));
    place.append(figure);
    const made = { measure, drawn, marks, run, strips, area, readout };
    for (const [text, act] of [["SVG", () => saveSvg(made)], ["PNG", () => savePng(made)], ["CSV", () => saveCsv(made)]]) {
      const button = make("button", { type: "button", "data-panel-save": text }, text);
      button.addEventListener("click", act);
      save.append(button);
    }
    made.plot = new uPlot(options(made), joined(drawn), area);
    listen(made);
    watcher.observe(area);
    refresh(made);
    read(made, null);
    return made;
  }

  const joined = (drawn) => uPlot.join(drawn.map((line) => [line.curve.times, line.curve.values]));

  function options(panel) {
    const { measure, drawn, area } = panel;
    const axis = { stroke: INK, font: FONT, grid: { stroke: GRID, width: 1 }, ticks: { stroke: GRID, width: 1, size: 5 } };
    const linear = (u, low, high) => [0, high > 0 ? high * 1.06 : 1];
    return {
      width: Math.max(area.clientWidth, 200),
      height: height(area),
      legend: { show: false },
      padding: [8, 8, 0, 0],
      scales: {
        x: { time: false, range: () => state.zoom },
        y: measure.log ? { distr: 3, range: (u, low, high) => (low > 0 ? uPlot.rangeLog(low, high, 10, false) : [1, 10]) } : { range: linear },
      },
      axes: [{ ...axis, values: (u, splits) => splits.map(format), label: "time (s)", labelFont: FONT, labelSize: 18, labelGap: 0, size: 34 }, { ...axis, size: 54, values: (u, splits) => splits.map((value) => (value === null ? "" : format(value))) }],
      cursor: { points: { show: false }, drag: { x: true, y: false, setScale: false }, sync: { key: "netwarp", scales: ["x", null], setSeries: false, filters: { pub: (type) => type !== "mousedown" && type !== "mouseup" } } },
      series: [{}, ...drawn.map((line) => ({ label: line.label, stroke: line.colour, dash: line.dash, width: drawn.length > 6 ? 1.2 : 1.5, points: { show: false }, paths: measure.steps ? uPlot.paths.stepped({ align: 1, extend: false }) : uPlot.paths.linear() }))],
      hooks: {
        drawClear: [(u) => shadeWarmup(u, panel)],
        draw: [(u) => mark(u, panel)],
        setCursor: [(u) => read(panel, u.cursor.left < 0 ? null : u.posToVal(u.cursor.left, "x"))],
        setSelect: [(u) => {
          if (u.select.width > 4) zoomTo(u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x"));
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        }],
      },
    };
  }

  const height = (area) => (area.clientWidth < 560 ? 190 : 230);

  const watcher = new ResizeObserver((entries) => {
    for (const entry of entries) {
      const panel = shown.find((one) => one.area === entry.target);
      const width = Math.floor(entry.contentRect.width);
      if (panel && width > 0 && panel.plot.width !== width) panel.plot.setSize({ width, height: height(panel.area) });
    }
  });

  function refresh(panel) {
    panel.plot.batch(() => panel.drawn.forEach((line, number) => panel.plot.setSeries(number + 1, { show: isOn(line) })));
    panel.plot.redraw(false, true);
    read(panel, panel.at ?? null);
  }

  function shadeWarmup(u, panel) {
    const end = u.valToPos(Math.min(panel.run.warmup_s, state.zoom[1]), "x", true);
    if (panel.run.warmup_s <= state.zoom[0]) return;
    u.ctx.fillStyle = "#f0f0f0";
    u.ctx.fillRect(u.bbox.left, u.bbox.top, end - u.bbox.left, u.bbox.height);
  }

  function mark(u, panel) {
    const { ctx, bbox } = u;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.strokeStyle = MUTED;
    ctx.setLineDash([5 * devicePixelRatio, 4 * devicePixelRatio]);
    ctx.lineWidth = devicePixelRatio;
    for (const time of panel.marks) {
      const x = u.valToPos(time, "x", true);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    }
    panel.strips.filter(isOn).slice(0, MOST_STRIPS).forEach((line, row) => {
      for (const [phase, start, end] of line.phases) {
        const x = u.valToPos(start, "x", true);
        ctx.fillStyle = PHASES[phase];
        ctx.fillRect(x, bbox.top + row * STRIP * devicePixelRatio, u.valToPos(end, "x", true) - x, (STRIP - 2) * devicePixelRatio);
      }
    });
    ctx.restore();
  }

  const phaseStrips = (drawn) => drawn.flatMap((line) => (line.variant.run.phases[line.flow] ? [Object.assign(line, { phases: line.variant.run.phases[line.flow] })] : []));

  function phaseLegend() {
    const row = make("div", { class: "chips" }, make("span", { class: "title" }, "Strips along the top: BBR's phases, in the order of the lines"));
    data.phases.forEach((name, n) => row.append(make("span", { class: "title" }, sample(PHASES[n], []), " ", name)));
    return row;
  }

  // Cursor and zoom ------------------------------------------------------------------------------------------------

  function read(panel, time) {
    panel.at = time;
    if (time === null) {
      panel.readout.replaceChildren("Point at the panel for values; drag over it to zoom.");
      return;
    }
    const parts = panel.drawn.filter(isOn).map((line) => make("span", {}, sample(line.colour, line.dash), `${line.label} `, make("b", {}, value(line, time, panel.measure.steps))));
    panel.readout.replaceChildren(make("span", {}, make("b", {}, `${time.toFixed(3)} s`)), ...parts);
  }

  /** What a line is at a moment: a state holds since its last sample; of the others the nearest sample. */
  function value(line, time, steps) {
    const { times, values } = line.curve;
    let low = 0, high = times.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (times[middle] <= time) low = middle + 1;
      else high = middle;
    }
    let at = low - 1;
    if (at < 0 && (steps || times[0] - time > 1)) return "–";
    if (!steps && at + 1 < times.length && (at < 0 || times[at + 1] - time < time - times[at])) at += 1;
    return values[at] === null || values[at] === undefined ? "–" : format(values[at]);
  }

  const format = (number) => (Number.isInteger(number) ? String(number) : String(Number(number.toPrecision(4))));

  function zoomTo(low, high) {
    const width = Math.min(Math.max(high - low, 0.001), longest);
    const start = Math.min(Math.max(low, 0), longest - width);
    state.zoom = [start, start + width];
    for (const panel of shown) panel.plot.setScale("x", { min: state.zoom[0], max: state.zoom[1] });
  }

  function scale(factor) {
    const [low, high] = state.zoom;
    const middle = shown[0]?.at ?? (low + high) / 2;
    const share = (middle - low) / (high - low);
    zoomTo(middle - share * (high - low) * factor, middle + (1 - share) * (high - low) * factor);
  }

  const shift = (share) => zoomTo(...state.zoom.map((edge) => edge + share * (state.zoom[1] - state.zoom[0])));

  function moveTo(time) {
    for (const { plot } of shown) plot.setCursor({ left: plot.valToPos(time, "x"), top: 10 }, true);
  }

  function listen(panel) {
    const { area, plot } = panel;
    area.addEventListener("keydown", (event) => {
      const [low, high] = state.zoom;
      const step = (high - low) / 100;
      const from = panel.at ?? (low + high) / 2;
      const acts = {
        ArrowLeft: () => moveTo(Math.max(from - step, low)),
        ArrowRight: () => moveTo(Math.min(from + step, high)),
        "+": () => scale(0.5), "=": () => scale(0.5), "-": () => scale(2), 0: () => zoomTo(0, longest), Escape: () => zoomTo(0, longest),
      };
      if (!acts[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      acts[event.key]();
    });
    area.addEventListener("dblclick", () => zoomTo(0, longest));
    const touched = (event) => {
      const box = plot.over.getBoundingClientRect();
      const left = event.touches[0].clientX - box.left;
      if (event.touches.length === 1 && left >= 0 && left <= box.width) moveTo(plot.posToVal(left, "x"));
    };
    plot.over.addEventListener("touchstart", touched, { passive: true });
    plot.over.addEventListener("touchmove", touched, { passive: true });
  }

  // Downloads: what is shown now, drawn again as a vector image --------------------------------------------------------

  const escape = (text) => String(text).replace(/[&<>"]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[sign]);

  function svgOf(panel) {
    const { measure, plot } = panel;
    const visible = panel.drawn.filter(isOn);
    const rows = visible.length > 1 || visible[0]?.label !== "queue" ? visible : [];
    const columns = Math.max(1, Math.min(4, Math.floor(700 / (40 + 7 * Math.max(8, ...rows.map((line) => line.label.length))))));
    const [left, top, width, tall, rowHeight] = [64, 54, 660, 250, 18];
    const total = top + tall + 52 + Math.ceil(rows.length / columns) * rowHeight;
    const [x0, x1] = state.zoom;
    const [y0, y1] = [plot.scales.y.min, plot.scales.y.max];
    const level = (y) => (measure.log ? Math.log10(y) : y);
    const X = (x) => left + ((x - x0) / (x1 - x0)) * width;
    const Y = (y) => top + tall - ((level(y) - level(y0)) / (level(y1) - level(y0))) * tall;
    const text = (x, y, words, more = "") => `<text x="${x}" y="${y}" fill="${INK}" ${more}>${escape(words)}</text>`;
    const parts = [`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 748 ${total}" width="748" height="${total}" font-family="DejaVu Sans, Verdana, sans-serif" font-size="12">`, `<rect width="748" height="${total}" fill="#ffffff"/>`];
    parts.push(text(left, 20, `${measure.title} (${measure.unit})`, 'font-size="15" font-weight="bold"'));
    parts.push(text(left, 40, [scenario, ...standing(), measure.how].join(" · "), `font-size="11" style="fill: ${MUTED}"`));
    if (panel.run.warmup_s > x0) parts.push(`<rect x="${left}" y="${top}" width="${(X(Math.min(panel.run.warmup_s, x1)) - left).toFixed(1)}" height="${tall}" fill="#f0f0f0"/>`);
    for (const y of ticks(y0, y1, 5, measure.log)) parts.push(`<path d="M${left} ${Y(y).toFixed(1)}h${width}" stroke="${GRID}"/>`, text(left - 6, (Y(y) + 4).toFixed(1), format(y), 'text-anchor="end"'));
    for (const x of ticks(x0, x1, 7, false)) parts.push(`<path d="M${X(x).toFixed(1)} ${top}v${tall}" stroke="${GRID}"/>`, text(X(x).toFixed(1), top + tall + 17, format(x), 'text-anchor="middle"'));
    parts.push(text(left + width / 2, top + tall + 36, "time (s)", 'text-anchor="middle"'));
    parts.push(`<clipPath id="panel"><rect x="${left}" y="${top}" width="${width}" height="${tall}"/></clipPath><g clip-path="url(#panel)" fill="none" stroke-width="1.3">`);
    for (const time of panel.marks) parts.push(`<path d="M${X(time).toFixed(1)} ${top}v${tall}" stroke="${MUTED}" stroke-dasharray="5 4"/>`);
    for (const line of visible) parts.push(`<path d="${path(line.curve, X, Y, measure.steps, measure.log)}" stroke="${line.colour}" stroke-dasharray="${line.dash.join(" ")}"/>`);
    panel.strips.filter(isOn).slice(0, MOST_STRIPS).forEach((line, row) => {
      for (const [phase, start, end] of line.phases) parts.push(`<path d="M${X(start).toFixed(1)} ${top + row * STRIP + 2.5}H${X(end).toFixed(1)}" stroke="${PHASES[phase]}" stroke-width="5"/>`);
    });
    parts.push("</g>");
    rows.forEach((line, number) => {
      const [x, y] = [left + (number % columns) * (width / columns), top + tall + 58 + Math.floor(number / columns) * rowHeight];
      parts.push(`<path d="M${x} ${y}h24" stroke="${line.colour}" stroke-width="2.5" stroke-dasharray="${line.dash.join(" ")}"/>`, text(x + 30, y + 4, line.label));
    });
    return parts.join("\n") + "\n</svg>\n";
  }

  function path({ times, values }, X, Y, steps, log) {
    let d = "", pen = false;
    for (let n = 0; n < times.length; n++) {
      if (values[n] === null || (log && values[n] <= 0)) {
        pen = false;
        continue;
      }
      // What lies beyond the zoom is clipped; its nearest neighbours lead in and out.
      if ((times[n + 1] ?? Infinity) < state.zoom[0] || (times[n - 1] ?? -Infinity) > state.zoom[1]) continue;
      const [x, y] = [X(times[n]).toFixed(1), Y(values[n]).toFixed(1)];
      d += !pen ? `M${x} ${y}` : steps ? `H${x}V${y}` : `L${x} ${y}`;
      pen = true;
    }
    return d;
  }

  function ticks(low, high, wanted, log) {
    if (log) {
      const found = [];
      for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) for (const one of [1, 2, 5]) found.push(one * 10 ** power);
      return found.filter((value) => value >= low && value <= high);
    }
    const rough = (high - low) / wanted;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough);
    const found = [];
    for (let n = Math.ceil(low / step); n * step <= high * (1 + 1e-9); n++) found.push(Number((n * step).toPrecision(10)));
    return found;
  }

  const named = (panel) => netwarp.fileName([scenario, panel.measure.key, ...standing()].join("-"));
  const saveSvg = (panel) => netwarp.download('<?xml version="1.0" encoding="UTF-8"?>\n' + svgOf(panel), "image/svg+xml", `${named(panel)}.svg`);
  const savePng = (panel) => netwarp.savePng(svgOf(panel), `${named(panel)}.png`);

  function saveCsv(panel) {
    const axes = data.axes.map((axis) => axis.path);
    const rows = [["run", ...axes, "seed", "flow", "time_s", `${panel.measure.title.toLowerCase()} (${panel.measure.unit})`]];
    for (const line of panel.drawn.filter(isOn)) {
      const { run } = line.variant;
      line.curve.times.forEach((time, n) => rows.push([run.id, ...run.at, run.seed, line.flow, Number(time.toFixed(4)), line.curve.values[n] ?? ""]));
    }
    netwarp.download(netwarp.csv(rows), "text/csv", `${named(panel)}.csv`);
  }

  build();
})();
