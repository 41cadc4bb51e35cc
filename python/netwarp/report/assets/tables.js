// Tables: sorted by a click on a head; every metric, found by its name.
document.addEventListener("click", (event) => {
  const button = event.target.closest("th .sort");
  if (!button) return;
  const head = button.closest("th");
  const falling = head.getAttribute("aria-sort") === "ascending";
  for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", falling ? "descending" : "ascending");
  const body = head.closest("table").tBodies[0];
  const words = new Intl.Collator("en", { numeric: true });
  const key = (row) => row.cells[head.cellIndex];
  const compare = (one, other) => {
    const [a, b] = [key(one), key(other)];
    const [x, y] = [a.dataset.value, b.dataset.value];
    if (x !== undefined && y !== undefined) return x - y;
    if (x !== undefined || y !== undefined) return x !== undefined ? -1 : 1;
    return words.compare(a.textContent, b.textContent);
  };
  const rows = [...body.rows].sort(compare);
  body.append(...(falling ? rows.reverse() : rows));
});

(function everyMetric() {
  const source = document.getElementById("metric-data");
  if (!source) return;
  const most = 300;
  const text = JSON.parse(source.textContent);
  const [table, filter, counted] = ["metric-table", "metric-filter", "metric-count"].map((id) => document.getElementById(id));
  let rows = null;

  /** CSV → rows; quoted cells may hold anything. */
  function parse(csv) {
    const found = [[]];
    const pattern = /("(?:[^"]|"")*"|[^,\n]*)(,|\n|$)/gy;
    for (let match; pattern.lastIndex < csv.length && (match = pattern.exec(csv)); ) {
      const cell = match[1];
      found.at(-1).push(cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell);
      if (match[2] === "\n") found.push([]);
    }
    return found.filter((row) => row.length > 1);
  }

  function cell(kind, value) {
    const made = document.createElement(kind);
    const isNumber = value !== "" && !Number.isNaN(Number(value));
    if (kind === "th") made.scope = "col";
    if (isNumber) made.className = "number";
    made.textContent = isNumber && /\d\.\d{3,}/.test(value) ? String(Number(Number(value).toPrecision(6))) : value;
    return made;
  }

  function show() {
    rows ??= parse(text);
    const wanted = filter.value.trim().toLowerCase().split(/\s+/);
    const hits = rows.slice(1).filter((row) => wanted.every((word) => row.join(" ").toLowerCase().includes(word)));
    const head = document.createElement("thead");
    head.append(document.createElement("tr"));
    head.rows[0].append(...rows[0].map((name) => cell("th", name)));
    const body = document.createElement("tbody");
    for (const row of hits.slice(0, most)) {
      const line = document.createElement("tr");
      line.append(...row.map((value) => cell("td", value)));
      body.append(line);
    }
    table.replaceChildren(head, body);
    counted.textContent = `${hits.length} rows` + (hits.length > most ? `, the first ${most} shown` : "");
  }

  document.getElementById("every-metric").addEventListener("toggle", show);
  filter.addEventListener("input", show);
  document.getElementById("metric-save").addEventListener("click", () => netwarp.download(text, "text/csv", "statistics.csv"));
})();
