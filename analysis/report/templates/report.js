// What a reader may do beyond reading: sort, filter and copy tables, read points out, hide series, choose a metric and a
// theme. All figures, tables and findings are on the page without it.
const all = (selector, from = document) => [...from.querySelectorAll(selector)];
const make = (tag, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};
const said = make("p", { className: "spoken", role: "status" });
document.body.append(said);
const say = (words) => { said.textContent = words; };

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
const copier = (words, text) => {
  const button = make("button", { type: "button", textContent: words });
  button.addEventListener("click", async () => {
    const isDone = await copy(text());
    say(isDone ? "copied" : "this browser does not let pages copy");
    button.textContent = isDone ? "copied" : "not allowed";
    setTimeout(() => { button.textContent = words; }, 1500);
  });
  return button;
};

// ---- what is seen, kept in the address: #anchor?cases-table.sort=-3&curves.metric=time
const kept = new Map();
let anchor = "";
// `get` returns what is to be kept, or nothing where all is as at first; `set` takes any text, and what it does not know
// is as at first.
const keep = (name, get, set) => kept.set(name, { get, set });
const note = () => {
  const told = [...kept].map(([name, one]) => [name, one.get()]).filter(([, value]) => value);
  const query = told.length ? `?${new URLSearchParams(told)}` : "";
  try {
    if (location.hash !== `#${anchor}${query}` && anchor + query + location.hash) history.replaceState(null, "", `#${anchor}${query}`);
  } catch { /* a browser may refuse many in a row: the address is then late */ }
};
const arrive = () => {
  const [name, query] = location.hash.slice(1).split(/\?(.*)/s);
  let target = null;
  try { target = document.getElementById(decodeURIComponent(name)); } catch { /* no name of ours */ }
  anchor = target ? target.id : "";
  if (query !== undefined) {
    const told = new URLSearchParams(query);
    kept.forEach((one, key) => { if (one.get() !== (told.get(key) || "")) one.set(told.get(key) || ""); });
  }
  all(".target").forEach((one) => one.classList.remove("target"));
  if (target) {
    for (let part = target; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
    const view = target.closest("figure[data-view]");
    if (view && view.pick) view.pick();
    target.classList.add("target");
    target.scrollIntoView();
  }
  note();
};

// ---- tables: what a cell is worth, in SI units where the page knows it
const FEW = 8;
const values = (cell) => {
  if (cell.dataset.v) return cell.dataset.v.split(" ").map(Number);
  const text = cell.textContent.trim();
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
  const sort = (column, way) => {
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    if (way !== "none") heads[column].ariaSort = way;
    const sign = way === "descending" ? -1 : 1;
    // What is not there comes last, whichever way.
    body.append(...(way === "none" ? original : [...original].sort((one, two) => {
      const [a, b] = [one.cells[column], two.cells[column]];
      return isAbsent(a) - isAbsent(b) || (isAbsent(a) ? 0 : sign * compare(a, b));
    })));
  };
  const buttons = heads.map((head, column) => {
    if (head.classList.contains("d")) return null;
    const button = make("button", { type: "button", className: "sort" }, ...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const next = { none: "ascending", ascending: "descending", descending: "none" }[head.ariaSort || "none"];
      sort(column, next);
      say(next === "none" ? "rows in their first order" : `rows by ${button.textContent}, ${next}`);
      note();
    });
    return button;
  });
  keep(`${table.id}.sort`, () => {
    const column = heads.findIndex((head) => head.ariaSort);
    return column < 0 ? "" : `${heads[column].ariaSort === "descending" ? "-" : ""}${column + 1}`;
  }, (text) => {
    const column = Math.abs(Number(text)) - 1;
    if (buttons[column]) sort(column, text.startsWith("-") ? "descending" : "ascending"); else sort(0, "none");
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
  const names = heads.map((head) => (head.querySelector("button") || head).firstChild?.textContent.trim() || "");
  const isOne = (name) => names.indexOf(name) === names.lastIndexOf(name);
  // Of intervals in one table each is named by what it belongs to.
  const whose = (column) => (isOne(names[column]) ? "" : `${names.slice(0, column).findLast((name) => name && isOne(name)) || ""} `.trimStart());
  const columns = heads.map((head, column) => {
    if (head.classList.contains("d")) return null;
    const cells = rows.map((row) => row.cells[column]), found = cells.map(values);
    const isKnown = cells.every((cell, at) => isAbsent(cell) || found[at].length > 0);
    const small = head.querySelector("small"), name = names[column];
    const unit = cells.some((cell) => cell.dataset.v) ? head.dataset.si || "" : small ? small.textContent : "";
    const title = whose(column) + name + (unit && ` (${unit})`);
    if (!isKnown) return [[title], cells.map((cell) => [cell.textContent.trim()])];
    const width = Math.max(1, ...found.map((own) => own.length));
    const titles = width === 2 ? [`${title} lower`, `${title} upper`] : [title];
    return [titles, found.map((own) => Array.from({ length: width }, (_, at) => (at in own ? String(own[at]) : "")))];
  }).filter(Boolean);
  const lines = [columns.flatMap(([titles]) => titles)];
  rows.forEach((_, at) => lines.push(columns.flatMap(([, cells]) => cells[at])));
  return lines.map((line) => line.map(quoted).join(",")).join("\n") + "\n";
};
const withTools = (table) => {
  const scroll = table.closest(".scroll"), rows = [...table.tBodies[0].rows];
  if (!scroll || rows.length === 0) return;
  const tools = make("div", { className: "tools" });
  if (rows.length > FEW) {
    const count = make("span");
    const input = make("input", { type: "search", autocomplete: "off", placeholder: "filter rows", ariaLabel: `filter rows of ${table.caption.textContent.trim()}` });
    const filter = () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      rows.forEach((row) => {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
      });
      const shown = rows.filter((row) => !row.hidden).length;
      count.textContent = words.length ? `${shown} of ${rows.length} rows` : "";
    };
    input.addEventListener("input", () => { filter(); say(count.textContent); note(); });
    keep(`${table.id}.filter`, () => input.value.trim(), (text) => { input.value = text; filter(); });
    tools.append(input, count);
  }
  tools.append(copier("copy CSV", () => csv(table)));
  scroll.before(tools);
};
all("main table").forEach((table) => { sortable(table); withTools(table); });

// ---- theme: as the system has it, light, dark; a reader's own, and so in no link
const themes = ["auto", "light", "dark"], theme = make("button", { type: "button" });
const setTheme = (name) => {
  if (name === "auto") delete document.documentElement.dataset.theme; else document.documentElement.dataset.theme = name;
  theme.textContent = `theme: ${name}`;
};
theme.addEventListener("click", () => {
  const now = document.documentElement.dataset.theme || "auto";
  setTheme(themes[(themes.indexOf(now) + 1) % themes.length]);
  say(theme.textContent);
});
theme.classList.add("theme");
setTheme("auto");
document.querySelector("header").append(make("span", { className: "tools own" }, copier("copy link", () => location.href), theme));
