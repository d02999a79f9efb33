import { ClassBox } from "/class_box.js";

const POLL = 500, RETRY = 1500;
const COLOURS = ["#4f9cf9", "#35b8a6", "#8f7bf0", "#f0a04b", "#e879b9", "#b5c334", "#9aa5b4"];
const MEANING = {
  overlay: "Where the network looks: its saliency map over the picture. The stronger the colour, the more informative.",
  map: "The saliency map alone.",
  lovi: "LOVI, layer-ordered colours: the hue shows which layers of the network respond at a pixel.",
  cam: "CAM: evidence for the class. It comes from the last layers, so it is coarse.",
  fastcam: "Fast-CAM: the saliency map times CAM. Fine detail, only where there is evidence for the class.",
  nonclass: "Non-class: the saliency map without the evidence for the class. What else stands out in the picture.",
  scales: "The map of each scale: from the first layers (fine: edges, texture) to the last ones (coarse: objects).",
  side: "The picture, and beside it the same with the saliency map.",
};
const OF_A_CLASS = "The map of the chosen class over the picture: the evidence for it.";
const find = (id) => document.getElementById(id);
const picture = find("picture"), classBox = find("class");
let paused = false, lost = true, recording = false, views = [], choices = null, top5 = "", listed = "", hasBoxes = false;

const fixed = (value, digits) => value === null ? "–" : value.toFixed(digits);
const percent = (score) => score === null ? "–" : (100 * score).toFixed(1) + " %";
const element = (tag, text) => Object.assign(document.createElement(tag), { textContent: text ?? "" });

// Stop the stream in a hidden tab: it would cost the device CPU time.
function watch() {
  if (document.hidden) picture.removeAttribute("src");
  else picture.src = "/stream.mjpg?" + Date.now();
}

function showViews(names, chosen, hasClass) {
  if (names.join() !== views.join()) {
    views = names;
    find("views").replaceChildren(...names.map((name, index) => {
      const button = Object.assign(element("button", name), { type: "button", title: "key " + (index + 1) });
      button.addEventListener("click", () => change({ view: name }));
      return button;
    }));
  }
  [...find("views").children].forEach((button, index) => button.setAttribute("aria-pressed", names[index] === chosen));
  const ofClass = hasClass && ["overlay", "map", "side"].includes(chosen);
  const meaning = ofClass ? OF_A_CLASS : MEANING[chosen] ?? "";
  if (find("meaning").textContent !== meaning) find("meaning").textContent = meaning;
  find("lovi").hidden = chosen !== "lovi";
}

function showClasses(status) {
  const best = status.prediction ?? (status.label ? { label: status.label, score: status.score } : null);
  find("label").textContent = best ? best.label : "–";
  find("score").textContent = best ? percent(best.score) : "–";
  find("score-bar").style.width = 100 * Math.min(1, Math.max(0, best?.score ?? 0)) + "%";
  hasBoxes = status.has_boxes;
  picture.classList.toggle("boxes", hasBoxes);
  find("explained").hidden = (status.class === null && !status.box) || !status.label;
  find("explained-label").textContent = status.label;
  find("explained-score").textContent = percent(status.score);
  const drawn = JSON.stringify([status.top, status.class === null ? "" : status.label, status.has_classes]);
  if (drawn !== top5) {
    top5 = drawn;
    showTop(status);
  }
}

// Rows stay in place, so that one can be clicked while the numbers change.
function showTop(status) {
  const list = find("top");
  while (list.children.length > status.top.length) list.lastChild.remove();
  status.top.forEach((each, index) => {
    if (!list.children[index]) list.append(topRow());
    const row = list.children[index], button = row.firstChild, [bar, name, score] = button.children;
    row.classList.toggle("chosen", status.class !== null && each.label === status.label);
    button.disabled = !status.has_classes;
    button.title = status.has_classes ? "explain " + each.label : "";
    button.dataset.index = each.class;
    button.dataset.label = each.label;
    bar.style.width = 100 * (each.score ?? 0) + "%";
    name.textContent = each.label;
    score.textContent = percent(each.score);
  });
}

function topRow() {
  const row = element("li"), button = Object.assign(element("button"), { type: "button" });
  const score = Object.assign(element("span"), { className: "number" });
  button.append(element("i"), element("span"), score);
  button.addEventListener("click", () => change({ class: unique(button.dataset.label, Number(button.dataset.index)) }));
  row.append(button);
  return row;
}

// The label if only one class has it, else the index.
function unique(label, index) {
  const labels = choices?.labels ?? [];
  return labels.includes(label) && labels.indexOf(label) === labels.lastIndexOf(label) ? label : index;
}

function showLook(look, view) {
  find("look").hidden = look === null;
  find("scale").hidden = look === null || view === "lovi" || !choices;
  if (look === null) return;
  if (document.activeElement !== find("alpha")) find("alpha").value = look.alpha;
  find("alpha-value").textContent = Math.round(100 * find("alpha").value) + " %";
  if (document.activeElement !== find("colormap")) find("colormap").value = look.colormap;
  const colours = choices?.colormaps[look.colormap];
  if (colours) find("scale-bar").style.background = "linear-gradient(to right, " + colours.join() + ")";
}

function showHistory(history) {
  find("history").hidden = history.length < 2;
  if (history.length < 2) return;
  const most = Math.max(1, ...history), left = 120 - history.length;
  const points = history.map((count, index) => `${left + index + .5} ${30 - 27 * count / most}`);
  find("history-line").setAttribute("d", "M" + points.join("L"));
  find("history-area").setAttribute("d", `M${left + .5} 32L${points.join("L")}L119.5 32Z`);
  find("history-most").textContent = "highest " + most + " / s";
}

function showLatency(latency, cold) {
  const { "end to end": total, ...parts } = latency;
  const stages = Object.entries(parts).map(([name, ms]) => [name, ms ?? 0]);
  const sum = total ?? stages.reduce((all, [, ms]) => all + ms, 0);
  find("split").replaceChildren(...stages.map(([, ms], index) => {
    const part = element("div");
    part.style.flexGrow = ms;
    part.style.background = COLOURS[index % COLOURS.length];
    return part;
  }));
  const rows = stages.map(([name, ms], index) => {
    const row = element("li"), colour = element("i"), value = element("span", ms.toFixed(1) + " ms");
    colour.style.background = COLOURS[index % COLOURS.length];
    value.className = "number";
    row.append(colour, element("span", name), value);
    return row;
  });
  const last = element("li"), value = element("span", sum.toFixed(1) + " ms");
  last.className = "total";
  last.title = "from the capture of a frame to its picture in all outputs";
  value.className = "number";
  last.append(element("span"), element("span", "end to end" + (cold ? " (cold: first frame)" : "")), value);
  find("stages").replaceChildren(...rows, ...(rows.length ? [last] : []));
}

const clock = (seconds) => Math.floor(seconds / 60) + ":" + String(Math.floor(seconds % 60)).padStart(2, "0");
const megabytes = (bytes) => bytes < 1e5 ? Math.ceil(bytes / 1e3) + " kB" : (bytes / 1e6).toFixed(bytes < 1e8 ? 1 : 0) + " MB";

function moment(name) {
  const parts = name.match(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)-(\d{3})Z/);
  return parts ? new Date(Date.UTC(parts[1], parts[2] - 1, ...parts.slice(3))).toLocaleString() : name;
}

function showRecorder(recorder) {
  find("record").hidden = recorder === null;
  find("keep").hidden = recorder === null;
  find("recordings-section").hidden = recorder === null;
  if (recorder === null) return;
  recording = recorder.recording;
  find("record").textContent = recording ? "Stop" : "Record";
  find("record").setAttribute("aria-pressed", recording);
  find("recording-mark").hidden = !recording;
  find("recording-time").textContent = clock(recorder.seconds);
  find("record-error").textContent = recorder.error;
  find("record-error").hidden = !recorder.error;
  const now = JSON.stringify([recorder.recordings, recorder.frames_kept]);
  if (now === listed) return;
  listed = now;
  find("recordings").replaceChildren(...recorder.recordings.map(({ name, bytes }) => {
    const row = element("li"), link = element("a"), size = element("span", megabytes(bytes));
    Object.assign(link, { className: "button", href: "/recordings/" + name, download: name, title: name });
    size.className = "number";
    link.append(element("span", moment(name)), size);
    row.append(link);
    return row;
  }));
  const used = recorder.recordings.reduce((sum, { bytes }) => sum + bytes, 0);
  const frames = recorder.frames_kept + (recorder.frames_kept === 1 ? " frame" : " frames") + " kept";
  find("recordings-note").textContent = [recorder.recordings.length ? megabytes(used) + " recorded" : "Nothing recorded yet", frames,
    "limit " + megabytes(recorder.limit) + "; the oldest are deleted first"].join(", ") + ".";
}

function show(status) {
  paused = status.paused;
  showClasses(status);
  find("fps").textContent = fixed(status.fps, 1);
  find("frame").textContent = status.frame < 0 ? "–" : status.frame;
  find("dropped").textContent = status.dropped;
  if (status.width) [picture.width, picture.height] = [status.width, status.height];
  find("held").hidden = !paused;
  find("pause").textContent = paused ? "Resume" : "Pause";
  find("pause").setAttribute("aria-pressed", paused);
  find("class-form").hidden = !status.has_classes;
  find("note").textContent = !status.has_classes ? "This model has no class maps." : status.class === null
    ? "Leave empty for the class with the highest score."
    : "Maps are for “" + status.class + "”. Leave empty for the class with the highest score.";
  showViews(status.views, status.view, status.class !== null);
  showLook(status.look, status.view);
  showHistory(status.history);
  showLatency(status.latency, status.cold);
  showRecorder(status.recorder);
  const size = " · " + status.width + "×" + status.height;
  if (status.frame < 0) connection("waiting", "waiting for the first picture");
  else if (status.silent !== null) connection("lost", "no new picture for " + status.silent + " s");
  else if (paused) connection("paused", "paused" + size);
  else connection("live", "live" + size);
}

function connection(state, text) {
  find("connection").dataset.state = state;
  if (find("connection").textContent !== text) find("connection").textContent = text;
}

function refuse(text) {
  find("error").textContent = text;
  find("error").hidden = !text;
  classBox.setAttribute("aria-invalid", Boolean(text));
}

async function change(changes) {
  refuse("");
  try {
    const response = await fetch("/control", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(changes),
      signal: AbortSignal.timeout(5000),
    });
    const answer = response.headers.get("Content-Type").startsWith("application/json")
      ? await response.json() : { error: await response.text() };
    if (answer.error) refuse(answer.error);
    else show(answer);
  } catch {
    refuse("The device does not answer.");
  }
}

async function ask(path) {
  const response = await fetch(path, { signal: AbortSignal.timeout(5000) });
  if (!response.ok) throw new Error(response.status);
  return response.json();
}

async function poll() {
  try {
    if (lost) takeChoices(await ask("/choices"));
    show(await ask("/status"));
    if (lost) watch();
    lost = false;
  } catch {
    lost = true;
    connection("lost", "connection lost");
  }
  setTimeout(poll, lost ? RETRY : POLL);
}

function takeChoices(given) {
  choices = given;
  chooser.labels = given.labels;
  find("colormap").replaceChildren(...Object.keys(given.colormaps).map((name) => new Option(name)));
}

// A slider gives many values in a row: send one request at a time, and always the last value.
let waiting = null, busy = false;
async function slide() {
  waiting = Number(find("alpha").value);
  find("alpha-value").textContent = Math.round(100 * waiting) + " %";
  if (busy) return;
  busy = true;
  while (waiting !== null) {
    const alpha = waiting;
    waiting = null;
    await change({ alpha });
  }
  busy = false;
}

const chooser = new ClassBox(find("class-form"), classBox, find("candidates"), (choice) => change({ class: choice }));
picture.addEventListener("error", () => { if (!document.hidden && !lost) setTimeout(watch, RETRY); });
document.addEventListener("visibilitychange", () => { if (!lost) watch(); });
find("pause").addEventListener("click", () => change({ paused: !paused }));
find("record").addEventListener("click", () => change({ recording: !recording }));
find("keep").addEventListener("click", () => change({ keep: true }));
find("explain-best").addEventListener("click", () => { classBox.value = ""; change(hasBoxes ? { class: null, box: null } : { class: null }); });
// A click on a box of a detector explains it; one beside all boxes explains the best class again.
picture.addEventListener("click", (event) => {
  if (!hasBoxes || !picture.naturalWidth) return;
  const scale = Math.min(picture.clientWidth / picture.naturalWidth, picture.clientHeight / picture.naturalHeight);
  const x = (event.offsetX - (picture.clientWidth - picture.naturalWidth * scale) / 2) / scale;
  const y = (event.offsetY - (picture.clientHeight - picture.naturalHeight * scale) / 2) / scale;
  classBox.value = "";
  change({ class: null, box: [x, y] });
});
find("alpha").addEventListener("input", slide);
find("colormap").addEventListener("change", () => change({ colormap: find("colormap").value }));
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, button, a, select")) return;
  if (event.key === " ") { event.preventDefault(); change({ paused: !paused }); }
  else if (views[event.key - 1]) change({ view: views[event.key - 1] });
});
poll();
