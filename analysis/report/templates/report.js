"use strict";
// What a reader may do beyond reading: sort, filter and copy tables, read points out, choose a theme. All figures,
// tables and findings are on the page without it.
(() => {
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const make = (tag, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };
  const POWERS = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 };
  const SIZE = /^(\d+(?:\.\d+)?) (B|KiB|MiB|GiB|TiB)$/;
  const FEW = 8;

  const said = make("p", { className: "spoken", role: "status" });
  document.body.append(said);
  const say = (words) => { said.textContent = words; };

  // ---- tables: what a cell is worth, in SI units where the page knows it
  const values = (cell) => {
    if (cell.dataset.v) return cell.dataset.v.split(" ").map(Number);
    const text = cell.textContent.trim(), size = SIZE.exec(text);
    if (size) return [Number(size[1]) * POWERS[size[2]]];
    return text !== "" && Number.isFinite(Number(text)) ? [Number(text)] : [];
  };
  const isAbsent = (cell) => ["", "-"].includes(cell.textContent.trim()) && !cell.dataset.v;
  const compare = (one, two) => {
    const [a, b] = [values(one)[0], values(two)[0]];
    if (a !== undefined && b !== undefined) return a - b;
    return one.textContent.trim().localeCompare(two.textContent.trim(), "en", { numeric: true });
  };

  const sortable = (table) => {
    const body = table.tBodies[0], original = [...body.rows], heads = [...table.tHead.rows[0].cells];
    if (original.length < 2 || original.some((row) => row.cells[0].textContent.trim() === "")) return;
    heads.forEach((head, column) => {
      if (head.classList.contains("d")) return;
      const button = make("button", { type: "button", className: "sort" }, ...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const next = { none: "ascending", ascending: "descending", descending: "none" }[head.ariaSort || "none"];
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        if (next !== "none") head.ariaSort = next;
        const sign = next === "descending" ? -1 : 1;
        // What is not there comes last, whichever way.
        const rows = next === "none" ? original : [...original].sort((one, two) => {
          const [a, b] = [one.cells[column], two.cells[column]];
          return isAbsent(a) - isAbsent(b) || (isAbsent(a) ? 0 : sign * compare(a, b));
        });
        body.append(...rows);
        say(next === "none" ? "rows in their first order" : `rows by ${button.textContent}, ${next}`);
      });
    });
  };

  const quoted = (text) => {
    // A spreadsheet takes what begins so for a formula.
    const safe = /^[=+\-@\t\r]/.test(text) && !Number.isFinite(Number(text)) && text !== "-" ? `'${text}` : text;
    return /[",\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const csv = (table) => {
    const heads = [...table.tHead.rows[0].cells];
    const rows = [...table.tBodies[0].rows].filter((row) => !row.hidden);
    const columns = heads.map((head, column) => {
      if (head.classList.contains("d")) return null;
      const cells = rows.map((row) => row.cells[column]), found = cells.map(values);
      const isKnown = cells.every((cell, at) => isAbsent(cell) || found[at].length > 0);
      const small = head.querySelector("small"), name = head.textContent.replace(small ? small.textContent : "", "").trim();
      const unit = cells.some((cell) => cell.dataset.v) ? head.dataset.si || "" : small ? small.textContent : "";
      const isSize = cells.some((cell) => SIZE.test(cell.textContent.trim()));
      const title = [name, isSize && !unit ? "(B)" : unit && `(${unit})`].filter(Boolean).join(" ");
      if (!isKnown) return [[title], cells.map((cell) => [cell.textContent.trim()])];
      const width = Math.max(1, ...found.map((own) => own.length));
      const titles = width === 2 ? [`${title} lower`, `${title} upper`] : [title];
      return [titles, found.map((own) => Array.from({ length: width }, (_, at) => (at in own ? String(own[at]) : "")))];
    }).filter(Boolean);
    const lines = [columns.flatMap(([titles]) => titles)];
    rows.forEach((_, at) => lines.push(columns.flatMap(([, cells]) => cells[at])));
    return lines.map((line) => line.map(quoted).join(",")).join("\n") + "\n";
  };
  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      const area = make("textarea", { value: text, className: "spoken" });
      document.body.append(area);
      area.select();
      const isDone = document.execCommand("copy");
      area.remove();
      return isDone;
    }
  };
  const withTools = (table) => {
    const scroll = table.closest(".scroll"), rows = [...table.tBodies[0].rows];
    if (!scroll || rows.length === 0) return;
    const tools = make("div", { className: "tools" });
    if (rows.length > FEW) {
      const count = make("span");
      const input = make("input", { type: "search", placeholder: "filter rows", ariaLabel: `filter rows of ${table.caption.textContent.trim()}` });
      input.addEventListener("input", () => {
        const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
        rows.forEach((row) => {
          const text = row.textContent.toLowerCase();
          row.hidden = !words.every((word) => text.includes(word));
        });
        const shown = rows.filter((row) => !row.hidden).length;
        count.textContent = words.length ? `${shown} of ${rows.length} rows` : "";
        say(count.textContent);
      });
      tools.append(input, count);
    }
    const button = make("button", { type: "button", textContent: "copy CSV" });
    button.addEventListener("click", async () => {
      const isDone = await copy(csv(table));
      say(isDone ? "copied" : "this browser does not let pages copy");
      button.textContent = isDone ? "copied" : "not allowed";
      setTimeout(() => { button.textContent = "copy CSV"; }, 1500);
    });
    tools.append(button);
    scroll.before(tools);
  };
  all("main table").forEach((table) => { sortable(table); withTools(table); });

  // ---- pictures: the nearest point is read out, and the same size in all panels of the picture is marked
  const NAMESPACE = "http://www.w3.org/2000/svg";
  const shape = (tag, attributes) => {
    const element = document.createElementNS(NAMESPACE, tag);
    Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));
    return element;
  };
  const bubble = make("div", { className: "readout", hidden: true });
  document.body.append(bubble);
  const clear = (figure) => { all(".cross", figure).forEach((one) => one.remove()); bubble.hidden = true; };
  const show = (panel, at) => {
    const figure = panel.closest("figure"), [x, y, words, size] = panel.points[at];
    clear(figure);
    all("[data-points]", figure).forEach((other) => {
      const twin = other === panel ? panel.points[at] : other.points.find((point) => point[3] === size);
      if (!twin) return;
      const svg = other.querySelector("svg"), high = svg.viewBox.baseVal.height;
      svg.append(shape("path", { class: "cross", d: `M${twin[0]} 0V${high}` }));
      if (other === panel) svg.append(shape("circle", { class: "cross", cx: x, cy: y, r: 6 }));
    });
    const svg = panel.querySelector("svg"), box = svg.getBoundingClientRect(), scale = box.width / svg.viewBox.baseVal.width;
    bubble.textContent = words;
    bubble.hidden = false;
    const wide = bubble.offsetWidth, left = box.left + x * scale;
    const right = document.documentElement.clientWidth - wide - 4;
    bubble.style.left = `${Math.max(4, Math.min(right, left - wide / 2)) + window.scrollX}px`;
    bubble.style.top = `${box.top + y * scale + window.scrollY - bubble.offsetHeight - 12}px`;
    panel.at = at;
  };
  all("[data-points]").forEach((panel) => {
    panel.points = JSON.parse(panel.dataset.points);
    panel.at = -1;
    panel.tabIndex = 0;
    panel.setAttribute("role", "group");
    panel.ariaLabel = `${panel.points.length} points: read out by arrow keys`;
    panel.addEventListener("pointermove", (event) => {
      const svg = panel.querySelector("svg"), box = svg.getBoundingClientRect(), scale = box.width / svg.viewBox.baseVal.width;
      const [x, y] = [(event.clientX - box.left) / scale, (event.clientY - box.top) / scale];
      const far = panel.points.map((point) => Math.hypot(point[0] - x, point[1] - y));
      const nearest = far.indexOf(Math.min(...far));
      if (far[nearest] < 40) { if (nearest !== panel.at || bubble.hidden) show(panel, nearest); } else { clear(panel.closest("figure")); panel.at = -1; }
    });
    panel.addEventListener("pointerleave", () => { clear(panel.closest("figure")); panel.at = -1; });
    panel.addEventListener("blur", () => clear(panel.closest("figure")));
    panel.addEventListener("keydown", (event) => {
      const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }, count = panel.points.length;
      if (event.key === "Escape") { clear(panel.closest("figure")); panel.at = -1; return; }
      const ends = { Home: 0, End: count - 1 };
      if (!(event.key in steps) && !(event.key in ends)) return;
      event.preventDefault();
      const next = event.key in ends ? ends[event.key] : Math.max(0, Math.min(count - 1, panel.at + steps[event.key]));
      show(panel, next);
      say(panel.points[next][2]);
    });
  });

  // ---- theme: as the system has it, light, dark
  const themes = ["auto", "light", "dark"], theme = make("button", { type: "button", className: "theme" });
  const setTheme = (name) => {
    if (name === "auto") delete document.documentElement.dataset.theme; else document.documentElement.dataset.theme = name;
    theme.textContent = `theme: ${name}`;
  };
  theme.addEventListener("click", () => {
    const now = document.documentElement.dataset.theme || "auto";
    setTheme(themes[(themes.indexOf(now) + 1) % themes.length]);
    say(theme.textContent);
  });
  setTheme("auto");
  document.querySelector("header").append(theme);

  // ---- links to what is inside a closed part open it
  const open = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let part = target; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
    if (target) target.scrollIntoView();
  };
  window.addEventListener("hashchange", open);
  window.addEventListener("beforeprint", () => all("details").forEach((part) => { part.open = true; }));
  open();
})();
