// ---- pictures: the nearest point is read out, and its place is marked in all pictures of the same x axis
const NAMESPACE = "http://www.w3.org/2000/svg";
const shape = (tag, attributes) => {
  const element = document.createElementNS(NAMESPACE, tag);
  Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));
  return element;
};
const panels = all("[data-points]"), bubble = make("div", { className: "readout", hidden: true });
document.body.append(bubble);
let crosses = [], read = null;
const clear = () => {
  crosses.forEach((one) => one.remove());
  crosses = [];
  bubble.hidden = true;
  if (read) read.at = -1;
};
const cross = (panel, tag, attributes) => {
  const one = shape(tag, { class: "cross", ...attributes });
  panel.drawing.append(one);
  crosses.push(one);
};
const show = (panel, at) => {
  clear();
  read = panel;
  panel.at = at;
  const [x, y, words, place] = panel.points[at];
  panels.forEach((other) => {
    const twin = other === panel ? panel.points[at] : other.axis === panel.axis && other.points.find((point) => point[3] === place);
    if (twin) cross(other, "path", { d: `M${twin[0]} 0V${other.drawing.viewBox.baseVal.height}` });
  });
  cross(panel, "circle", { cx: x, cy: y, r: 6 });
  const box = panel.drawing.getBoundingClientRect(), scale = box.width / panel.drawing.viewBox.baseVal.width;
  bubble.textContent = words;
  bubble.hidden = false;
  const wide = bubble.offsetWidth, left = box.left + x * scale;
  const right = document.documentElement.clientWidth - wide - 4;
  bubble.style.left = `${Math.max(4, Math.min(right, left - wide / 2)) + window.scrollX}px`;
  bubble.style.top = `${box.top + y * scale + window.scrollY - bubble.offsetHeight - 12}px`;
};
const offer = (panel, off) => {
  panel.points = panel.known.filter((point) => !off.has(point[4]));
  panel.ariaLabel = `${panel.points.length} points: read out by arrow keys`;
};
panels.forEach((panel) => {
  panel.known = JSON.parse(panel.dataset.points);
  panel.axis = panel.closest("figure").dataset.axis;
  panel.drawing = panel.querySelector("svg");
  panel.at = -1;
  panel.tabIndex = 0;
  panel.setAttribute("role", "group");
  offer(panel, new Set());
  panel.addEventListener("pointermove", (event) => {
    const box = panel.drawing.getBoundingClientRect(), scale = box.width / panel.drawing.viewBox.baseVal.width;
    const [x, y] = [(event.clientX - box.left) / scale, (event.clientY - box.top) / scale];
    const far = panel.points.map((point) => Math.hypot(point[0] - x, point[1] - y));
    const nearest = far.indexOf(Math.min(...far));
    if (!(far[nearest] < 40)) clear(); else if (nearest !== panel.at) show(panel, nearest);
  });
  panel.addEventListener("pointerleave", clear);
  panel.addEventListener("blur", clear);
  panel.addEventListener("keydown", (event) => {
    const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }, count = panel.points.length;
    if (event.key === "Escape") { clear(); return; }
    const ends = { Home: 0, End: count - 1 };
    if (!count || !(event.key in steps || event.key in ends)) return;
    event.preventDefault();
    const next = event.key in ends ? ends[event.key] : Math.max(0, Math.min(count - 1, panel.at + steps[event.key]));
    show(panel, next);
    say(panel.points[next][2]);
  });
});

// ---- views of the same curves stand in one place; series are hidden and shown in all pictures of that place. Paper has all.
const withMetrics = (name, figures, tools) => {
  const views = figures.map((figure) => figure.dataset.view);
  let chosen = "";
  const pick = (view) => {
    chosen = view;
    clear();
    figures.forEach((figure, at) => {
      figure.toggleAttribute("data-off", views[at] !== view);
      radios[at].checked = views[at] === view;
    });
  };
  const radios = views.map((view) => make("input", { type: "radio", autocomplete: "off", name: `${name}.metric`, value: view }));
  radios.forEach((radio, at) => {
    radio.addEventListener("change", () => { pick(views[at]); say(figures[at].querySelector("h3").textContent); note(); });
    figures[at].pick = () => pick(views[at]);
  });
  keep(`${name}.metric`, () => (chosen === views[0] ? "" : chosen), (text) => pick(views.includes(text) ? text : views[0]));
  const labels = views.map((view, at) => make("label", {}, radios[at], ` ${view}`));
  tools.append(make("span", { role: "radiogroup", ariaLabel: "metric" }, ...labels));
  pick(views[0]);
};
const withSeries = (name, figures, tools) => {
  const known = new Map(figures.flatMap((figure) => JSON.parse(figure.dataset.series)).map((one) => [one[0], one]));
  if (known.size < 2) return;
  const off = new Set(), count = make("span"), buttons = new Map();
  const draw = () => {
    clear();
    figures.forEach((figure) => {
      all("[data-s]", figure).forEach((mark) => mark.toggleAttribute("data-off", off.has(mark.dataset.s)));
      all("[data-points]", figure).forEach((panel) => offer(panel, off));
    });
    buttons.forEach((button, id) => { button.ariaPressed = String(!off.has(id)); });
    count.textContent = off.size ? `${off.size} of ${known.size} series hidden` : "";
  };
  known.forEach(([id, words, colour]) => {
    const swatch = shape("svg", { viewBox: "0 0 10 10", "aria-hidden": true });
    swatch.append(shape("circle", { cx: 5, cy: 5, r: 4.5, fill: colour }));
    const button = make("button", { type: "button", className: "series" }, swatch, words);
    button.addEventListener("click", () => {
      if (!off.delete(id)) off.add(id);
      draw();
      say(count.textContent || "all series shown");
      note();
    });
    buttons.set(id, button);
  });
  keep(`${name}.off`, () => [...known.keys()].filter((id) => off.has(id)).join("."), (text) => {
    off.clear();
    text.split(".").filter((id) => known.has(id)).forEach((id) => off.add(id));
    draw();
  });
  tools.append(...buttons.values(), count);
  draw();
};
const places = new Map();
all("figure").forEach((figure) => {
  const name = figure.dataset.view ? figure.closest("section").id : figure.id;
  places.set(name, [...(places.get(name) || []), figure]);
});
places.forEach((figures, name) => {
  const tools = make("div", { className: "tools" });
  if (figures.length > 1) withMetrics(name, figures, tools);
  withSeries(name, figures, tools);
  if (!tools.hasChildNodes()) return;
  if (figures.length > 1) figures[0].before(tools); else figures[0].querySelector(".panels").before(tools);
});

window.addEventListener("hashchange", arrive);
window.addEventListener("beforeprint", () => all("details").forEach((part) => { part.open = true; }));
arrive();
