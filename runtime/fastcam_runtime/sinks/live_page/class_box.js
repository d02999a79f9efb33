// The input for a class name or index, with candidates below it.
import { candidates } from "/classes.js";

const folded = (text) => text.toLowerCase();

/** Connects the box, its list and its form; `choose` is called with the text or index to explain. */
export class ClassBox {
  constructor(form, box, list, choose) {
    [this.box, this.list, this.choose] = [box, list, choose];
    this.labels = [];
    this.selected = -1;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit();
    });
    box.addEventListener("input", () => this.show());
    box.addEventListener("focus", () => this.show());
    box.addEventListener("blur", () => this.hide());
    box.addEventListener("keydown", (event) => this.press(event));
    // Before the box loses the focus, which would hide the list.
    list.addEventListener("pointerdown", (event) => event.preventDefault());
    list.addEventListener("click", (event) => {
      const item = event.target.closest("li");
      if (item) this.take(Number(item.dataset.index));
    });
  }

  show() {
    const text = this.box.value.trim();
    const number = /^\d+$/.test(text) && Number(text) < this.labels.length ? [Number(text)] : [];
    const found = [...new Set([...number, ...candidates(text, this.labels)])];
    this.selected = -1;
    this.list.replaceChildren(...found.map((index) => this.item(index, this.labels[index])));
    this.open(found.length > 0);
  }

  item(index, label) {
    const item = document.createElement("li"), name = document.createElement("span"), number = document.createElement("span");
    const text = this.box.value.trim(), at = folded(label).indexOf(folded(text));
    Object.assign(item, { id: "candidate-" + index, role: "option" });
    item.dataset.index = index;
    const match = document.createElement("b");
    match.textContent = at < 0 ? "" : label.slice(at, at + text.length);
    name.append(at < 0 ? label : label.slice(0, at), match, at < 0 ? "" : label.slice(at + text.length));
    number.className = "index";
    number.textContent = index;
    item.append(name, number);
    return item;
  }

  open(shown) {
    this.list.hidden = !shown;
    this.box.setAttribute("aria-expanded", shown);
    this.box.removeAttribute("aria-activedescendant");
  }

  hide() { this.open(false); }

  press(event) {
    const items = [...this.list.children];
    if (event.key === "Escape") this.hide();
    if (this.list.hidden || !["ArrowDown", "ArrowUp"].includes(event.key)) return;
    event.preventDefault();
    const step = event.key === "ArrowDown" ? 1 : -1;
    this.selected = (this.selected + step + items.length) % items.length;
    items.forEach((item, index) => item.setAttribute("aria-selected", index === this.selected));
    items[this.selected].scrollIntoView({ block: "nearest" });
    this.box.setAttribute("aria-activedescendant", items[this.selected].id);
  }

  submit() {
    const item = this.list.hidden ? null : this.list.children[this.selected];
    if (item) this.take(Number(item.dataset.index));
    else {
      this.hide();
      this.choose(this.box.value);
    }
  }

  take(index) {
    const label = this.labels[index];
    this.box.value = label;
    this.hide();
    // Two classes may have the same label.
    this.choose(this.labels.indexOf(label) === this.labels.lastIndexOf(label) ? label : index);
  }
}
