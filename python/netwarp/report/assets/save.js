// Downloads: a figure as SVG or PNG, its data as CSV; commands to the clipboard. Nothing leaves the page.
"use strict";

const netwarp = {};

netwarp.download = function (content, type, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
};

netwarp.fileName = (text) => text.replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^-+|-+$/g, "") || "figure";

/** An SVG element as the text of a file: with its namespaces, on white paper. */
netwarp.svgText = function (svg) {
  const copy = svg.cloneNode(true);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  const [x, y, width, height] = (copy.getAttribute("viewBox") || "0 0 640 480").split(/[\s,]+/).map(Number);
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  const paper = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [key, value] of Object.entries({ x, y, width, height, fill: "#ffffff" })) paper.setAttribute(key, value);
  copy.prepend(paper);
  return '<?xml version="1.0" encoding="UTF-8"?>\n' + new XMLSerializer().serializeToString(copy) + "\n";
};

netwarp.savePng = function (svgText, name) {
  const image = new Image();
  const address = URL.createObjectURL(new Blob([svgText], { type: "image/svg+xml" }));
  image.onload = () => {
    const scale = 2.5;
    const canvas = document.createElement("canvas");
    canvas.width = Math.ceil(image.width * scale);
    canvas.height = Math.ceil(image.height * scale);
    const context = canvas.getContext("2d");
    context.scale(scale, scale);
    context.drawImage(image, 0, 0);
    URL.revokeObjectURL(address);
    canvas.toBlob((blob) => netwarp.download(blob, "image/png", name), "image/png");
  };
  image.src = address;
};

netwarp.csvCell = (text) => (/[",\n\r]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text);

netwarp.csv = (rows) => rows.map((row) => row.map((cell) => netwarp.csvCell(String(cell))).join(",")).join("\n") + "\n";

/** A table's rows as the page shows them; a second line in a cell is in parentheses. */
netwarp.tableCsv = function (table) {
  const text = (cell) => {
    const second = cell.querySelector("small");
    const first = second ? cell.textContent.slice(0, -second.textContent.length) : cell.textContent;
    return first.trim().replaceAll("\u202f", "") + (second ? ` (${second.textContent.trim().replaceAll("\u202f", "")})` : "");
  };
  return netwarp.csv([...table.rows].map((row) => [...row.cells].map(text)));
};

/** The drawing of a figure that is shown now, of several for different screens. */
netwarp.drawn = (figure) => [...figure.querySelectorAll(".paper")].find((one) => one.offsetParent !== null)?.querySelector("svg");

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-save]");
  if (!button) return;
  const figure = button.closest("figure");
  const name = netwarp.fileName(figure.dataset.name);
  const kind = button.dataset.save;
  if (kind === "svg") netwarp.download(netwarp.svgText(netwarp.drawn(figure)), "image/svg+xml", `${name}.svg`);
  if (kind === "png") netwarp.savePng(netwarp.svgText(netwarp.drawn(figure)), `${name}.png`);
  if (kind === "csv") netwarp.download(JSON.parse(figure.querySelector("script.data").textContent), "text/csv", `${name}.csv`);
  if (kind === "table") netwarp.download(netwarp.tableCsv(figure.querySelector("table")), "text/csv", `${name.replace(/\.csv$/, "")}.csv`);
  if (kind === "text") netwarp.download(figure.querySelector("pre").textContent, "text/plain", `${name}.${button.dataset.ending}`);
});

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const text = button.parentElement.querySelector("pre");
  getSelection().selectAllChildren(text);
  try {
    await navigator.clipboard.writeText(text.textContent);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Selected";
  }
  setTimeout(() => (button.textContent = "Copy"), 2000);
});
