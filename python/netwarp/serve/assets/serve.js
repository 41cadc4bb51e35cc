// Asks once a second what has changed, and puts it in its place; what is the same is left alone, sorted tables as well.
(function follow() {
  "use strict";
  const source = document.querySelector("main").dataset.parts;
  if (!source) return;
  const shown = new Map();
  const gone = document.getElementById("gone");
  const SOON_MS = 1000;

  async function look() {
    try {
      const answer = await fetch(source, { credentials: "same-origin" });
      if (answer.ok) {
        const { parts, go } = await answer.json();
        if (go) return location.replace(go);
        for (const [id, html] of Object.entries(parts)) put(document.getElementById(id), id, html);
      }
      gone.hidden = true;
    } catch {
      gone.hidden = false;
    }
    setTimeout(look, document.hidden ? 5 * SOON_MS : SOON_MS);
  }

  function put(element, id, html) {
    if (element === null || shown.get(id) === html) return;
    const tall = element.querySelector(".tall")?.scrollTop;
    element.innerHTML = html;
    if (tall) element.querySelector(".tall")?.scrollTo(0, tall);
    shown.set(id, html);
  }

  look();
})();
