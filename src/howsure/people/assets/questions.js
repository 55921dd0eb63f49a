// Questions on the screen. Each holds its answer (null: none yet), takes the focus, and says what is wrong with it.
class Asked {
  static count = 0;

  constructor(question, answer, changed) {
    this.question = question;
    this.answer = answer ?? null;
    this.settled = this.answer;
    this.changed = changed;
    this.name = `q${++Asked.count}`;
    this.trouble = make("p", { class: "trouble", id: `${this.name}-trouble` });
  }

  // A change counts as a revision when the person comes back to a question, not while the arrow keys pass over its options.
  settle() {
    const isRevised = this.settled !== null && canonical(this.answer) !== canonical(this.settled);
    this.settled = this.answer;
    if (isRevised) this.changed(this, true);
  }

  give(answer) {
    this.answer = answer;
    this.complain("");
    this.changed(this, false);
  }

  problem() {
    return this.answer === null && this.question.required ? worded("answer") : "";
  }

  complain(text) {
    this.trouble.textContent = text;
    this.inner.setAttribute("aria-invalid", String(text !== ""));
  }

  leaving(element) {
    element.addEventListener("focusout", () => setTimeout(() => element.contains(document.activeElement) || this.settle()));
  }

  pick() {
    return false;
  }

  label() {
    const { text, required } = this.question;
    return required ? [text] : [text, make("span", { class: "optional" }, ` (${worded("optional")})`)];
  }
}

// One of several labelled options, as a group of radio buttons: arrows move, a digit picks.
class Options extends Asked {
  constructor(question, answer, changed) {
    super(question, answer, changed);
    const options = question.kind === "scale" ? question.labels.map((label, i) => ({ value: question.low + i, label })) : question.options;
    this.inputs = options.map(({ value }) => this.input(value));
    const labels = options.map(({ label }, i) => this.option(label, i));
    this.element = this.inner = make(
      "fieldset",
      { class: `question ${question.kind}`, role: "radiogroup", "aria-required": String(question.required), "aria-describedby": this.trouble.id },
      make("legend", { dir: "auto" }, ...this.label()),
      make("div", { class: "options" }, ...labels),
      this.trouble,
    );
    this.leaving(this.element);
  }

  input(value) {
    return make("input", { type: "radio", name: this.name, checked: value === this.answer, change: () => this.give(value) });
  }

  option(label, i) {
    const digit = i < 9 && make("kbd", { "aria-hidden": "true" }, String(i + 1));
    return make("label", { class: "option" }, this.inputs[i], make("span", { dir: "auto" }, label), digit);
  }

  problem() {
    const other = this.others?.find(({ question }) => question.name === this.question.differs_from);
    return this.answer !== null && other?.answer === this.answer ? worded("differs") : super.problem();
  }

  focus() {
    (this.inputs.find((input) => input.checked) ?? this.inputs[0]).focus();
  }

  pick(digit) {
    this.inputs[digit - 1]?.click();
    return digit <= this.inputs.length;
  }

  clear() {
    this.inputs.forEach((input) => (input.checked = false));
    this.answer = this.settled = null;
  }

  freeze(isFrozen = true) {
    this.element.disabled = isFrozen;
  }
}

// A typed answer. What is typed is taken as an answer only once it is one.
class Field extends Asked {
  constructor(question, answer, changed) {
    super(question, answer, changed);
    this.inner = this.input();
    this.inner.value = this.answer ?? "";
    const unit = question.unit && make("span", { class: "unit", id: `${this.name}-unit`, dir: "auto" }, question.unit);
    this.element = make(
      "div",
      { class: `question ${question.kind}` },
      make("label", { for: this.name, dir: "auto" }, ...this.label()),
      make("div", { class: "typed" }, this.inner, unit),
      this.trouble,
    );
    this.inner.addEventListener("input", () => this.give(this.read()));
    this.leaving(this.element);
  }

  input() {
    const { kind, lines = 1, max_chars, low, required } = this.question;
    const keys = kind === "number" && low != null && low >= 0 ? "decimal" : "text"; // some number pads have no minus
    const shared = { id: this.name, maxlength: max_chars ?? 40, autocomplete: "off", spellcheck: "false", dir: "auto", "aria-describedby": this.trouble.id, "aria-required": String(required) };
    return lines > 1 ? make("textarea", { ...shared, rows: lines, spellcheck: "true" }) : make("input", { ...shared, type: "text", inputmode: keys });
  }

  read() {
    const text = whole(this.inner.value);
    if (this.question.kind === "text") return isBlank(text) ? null : text;
    const number = normalNumber(text, this.question.decimals);
    return number === null || this.isOutside(number) ? null : number;
  }

  isOutside(number) {
    const { low, high } = this.question;
    return (low != null && Number(number) < low) || (high != null && Number(number) > high);
  }

  problem() {
    const text = this.inner.value;
    if (this.question.kind === "text" || isBlank(text)) return super.problem();
    const { decimals, low, high } = this.question;
    const number = normalNumber(text, decimals);
    return number === null ? worded(decimals ? "number_decimals" : "number_whole", { count: decimals }) : this.isOutside(number) ? worded(low == null ? "at_most" : high == null ? "at_least" : "between", { low, high }) : "";
  }

  focus() {
    this.inner.focus();
  }

  clear() {
    this.inner.value = "";
    this.answer = this.settled = null;
  }

  freeze(isFrozen = true) {
    this.inner.readOnly = isFrozen;
  }
}

// A number on a line. It counts once it was moved, or set by its button: a slider that nobody touched has no answer.
class Slider extends Asked {
  constructor(question, answer, changed) {
    super(question, answer, changed);
    const { low, high, left, right, required } = question;
    this.told = make("output", { class: "slider-value", for: this.name });
    this.inner = make("input", { type: "range", id: this.name, min: low, max: high, step: 1, "aria-describedby": this.trouble.id, "aria-required": String(required), input: () => this.read(), click: () => this.read(), keydown: ({ key }) => key === " " && this.read() });
    this.inner.value = this.answer ?? Math.round((low + high) / 2);
    this.element = make(
      "div",
      { class: "question slider" },
      make("label", { for: this.name, dir: "auto" }, ...this.label()),
      make("div", { class: "line" }, make("span", { dir: "auto" }, left), this.inner, make("span", { dir: "auto" }, right)),
      this.told,
      this.trouble,
    );
    this.leaving(this.element);
    this.draw();
  }

  // A press, or the space bar, takes the place where it stands.
  read() {
    this.give(Number(this.inner.value));
  }

  give(answer) {
    super.give(answer);
    this.draw();
  }

  draw() {
    this.inner.classList.toggle("unset", this.answer === null);
    this.told.textContent = this.answer === null ? worded("slider_unset") : worded("slider_set", { value: this.answer });
    this.inner.setAttribute("aria-valuetext", this.told.textContent);
  }

  focus() {
    this.inner.focus();
  }
}

// Any number of labelled options, as boxes; where none may apply, a box of its own says so.
class Labels extends Asked {
  constructor(question, answer, changed) {
    super(question, answer, changed);
    const { options, at_least } = question;
    this.values = options.map(({ value }) => value);
    const labels = options.map(({ label }) => label).concat(at_least ? [] : [worded("none_of_these")]);
    this.inputs = labels.map((_, i) => make("input", { type: "checkbox", change: () => this.read(i) }));
    const rows = labels.map((label, i) => make("label", { class: "option" }, this.inputs[i], make("span", { dir: "auto" }, label), i < 9 && make("kbd", { "aria-hidden": "true" }, String(i + 1))));
    this.element = this.inner = make(
      "fieldset",
      { class: "question labels", "aria-describedby": this.trouble.id },
      make("legend", { dir: "auto" }, ...this.label()),
      make("div", { class: "options" }, ...rows),
      this.trouble,
    );
    this.leaving(this.element);
    this.draw();
  }

  read(i) {
    const isNone = i === this.values.length;
    const chosen = isNone ? [] : this.values.filter((_, place) => this.inputs[place].checked);
    this.give(chosen.length || (isNone && this.inputs[i].checked) ? chosen : null);
    this.draw();
  }

  draw() {
    this.values.forEach((value, i) => (this.inputs[i].checked = this.answer?.includes(value) ?? false));
    if (this.inputs.length > this.values.length) this.inputs.at(-1).checked = this.answer?.length === 0;
  }

  problem() {
    const { at_least, at_most } = this.question;
    const n = this.answer?.length;
    const isOff = this.answer !== null && (n < at_least || n > (at_most ?? n));
    return isOff ? worded("choose_between", { low: at_least, high: at_most ?? this.values.length }) : super.problem();
  }

  focus() {
    this.inputs[0].focus();
  }

  pick(digit) {
    this.inputs[digit - 1]?.click();
    return false; // several may apply, so the question stays in hand
  }
}

// Options in an order: pressing one gives it the next place, pressing it again takes it out.
class Ranking extends Asked {
  constructor(question, answer, changed) {
    super(question, answer, changed);
    this.order = [...(this.answer ?? [])];
    this.most = Math.min(question.top ?? question.options.length, question.options.length);
    this.places = question.options.map(() => make("span", { class: "rank" }));
    this.buttons = question.options.map(({ value, label }, i) =>
      make("button", { type: "button", class: "option", click: () => this.press(value) }, this.places[i], make("span", { dir: "auto" }, label), i < 9 && make("kbd", { "aria-hidden": "true" }, String(i + 1))),
    );
    this.element = this.inner = make(
      "fieldset",
      { class: "question ranking", "aria-describedby": `${this.name}-help ${this.trouble.id}` },
      make("legend", { dir: "auto" }, ...this.label()),
      make("p", { class: "help", id: `${this.name}-help` }, worded("rank_help")),
      make("div", { class: "options" }, ...this.buttons),
      this.trouble,
    );
    this.leaving(this.element);
    this.draw();
  }

  press(value) {
    if (this.order.includes(value)) this.order = this.order.filter((one) => one !== value);
    else if (this.order.length < this.most) this.order.push(value);
    this.give(this.order.length === this.most ? [...this.order] : null);
    this.draw();
  }

  draw() {
    this.question.options.forEach(({ value }, i) => {
      const place = this.order.indexOf(value);
      this.places[i].textContent = place < 0 ? "" : worded("rank", { number: place + 1 });
      this.buttons[i].setAttribute("aria-pressed", String(place >= 0));
    });
  }

  problem() {
    return this.answer === null && (this.question.required || this.order.length) ? worded("rank_all", { count: this.most }) : "";
  }

  focus() {
    this.buttons[0].focus();
  }

  pick(digit) {
    this.buttons[digit - 1]?.click();
    return false;
  }
}

// Parts of a text: its words are buttons; the first word of a part and then the last one mark it. Arrow keys move between words.
class Spans extends Asked {
  constructor(question, answer, changed, text) {
    super(question, answer, changed);
    this.letters = [...text]; // places are counted in characters, as Python counts them
    this.spans = (this.answer ?? []).map((one) => this.parsed(one));
    this.from = null;
    this.tag = question.options[0].value;
    this.words = this.cut();
    this.help = make("p", { class: "help", role: "status", id: `${this.name}-help` }, worded("spans_help"));
    this.marks = make("div", { class: "marks" });
    this.box = make("div", { class: "words", dir: "auto", role: "group", "aria-label": question.text, keydown: (event) => this.move(event) }, ...this.drawnWords());
    this.tags = question.options.map(({ value, label }) => button(label, () => this.choose(value), { class: "tag" }));
    this.none = make("input", { type: "checkbox", change: () => this.empty() });
    this.element = this.inner = make(
      "fieldset",
      { class: "question spans", "aria-describedby": `${this.name}-help ${this.trouble.id}` },
      make("legend", { dir: "auto" }, ...this.label()),
      question.options.length > 1 ? make("div", { class: "moves tags" }, make("span", {}, worded("spans_label")), ...this.tags) : null,
      this.help,
      this.box,
      this.marks,
      make("label", { class: "option tick" }, this.none, make("span", {}, worded("spans_none"))),
      this.trouble,
    );
    this.leaving(this.element);
    this.draw();
  }

  parsed(one) {
    const [, start, end, value] = /^(\d+)-(\d+):(.+)$/.exec(one);
    return { start: Number(start), end: Number(end), value };
  }

  // Words with their places; what lies between them is shown and cannot be pressed.
  cut() {
    const parts = [];
    for (let at = 0; at < this.letters.length; ) {
      const isSpace = /\s/.test(this.letters[at]);
      let end = at;
      while (end < this.letters.length && /\s/.test(this.letters[end]) === isSpace) end++;
      parts.push({ start: at, end, isSpace, text: this.letters.slice(at, end).join("") });
      at = end;
    }
    return parts;
  }

  drawnWords() {
    this.keys = [];
    return this.words.map((word) => {
      if (word.isSpace) return word.text;
      word.key = make("button", { type: "button", class: "word", tabindex: this.keys.length ? -1 : 0, click: () => this.press(word) }, word.text);
      this.keys.push(word.key);
      return word.key;
    });
  }

  move(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 10, ArrowUp: -10 }[event.key];
    const at = this.keys.indexOf(document.activeElement);
    if (!step || at < 0) return;
    event.preventDefault();
    const next = this.keys[Math.max(0, Math.min(this.keys.length - 1, at + step))];
    this.keys[at].tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }

  choose(value) {
    this.tag = value;
    this.draw();
  }

  press(word) {
    if (this.from === null) this.from = word;
    else {
      const [first, last] = this.from.start <= word.start ? [this.from, word] : [word, this.from];
      const made = { start: first.start, end: last.end, value: this.tag };
      if (!this.spans.some((one) => this.written(one) === this.written(made))) this.spans.push(made);
      this.from = null;
      this.hand();
    }
    this.draw();
  }

  remove(span) {
    this.spans = this.spans.filter((one) => one !== span);
    this.hand();
    this.draw();
    this.keys[0].focus();
  }

  empty() {
    this.spans = [];
    this.from = null;
    this.give(this.none.checked ? [] : null);
    this.draw();
  }

  hand() {
    this.spans.sort((a, b) => a.start - b.start || a.end - b.end || (a.value < b.value ? -1 : 1));
    this.give(this.spans.length ? this.spans.map((one) => this.written(one)) : null);
  }

  written({ start, end, value }) {
    return `${start}-${end}:${value}`;
  }

  draw() {
    const names = Object.fromEntries(this.question.options.map(({ value, label }) => [value, label]));
    this.none.checked = this.answer?.length === 0;
    this.help.textContent = this.from ? worded("spans_from", { word: this.from.text }) : worded("spans_help");
    this.tags.forEach((one, i) => one.setAttribute("aria-pressed", String(this.question.options[i].value === this.tag)));
    this.words.forEach((word) => {
      const covers = this.spans.some(({ start, end }) => start <= word.start && word.end <= end);
      word.key?.setAttribute("aria-pressed", String(covers || word === this.from));
    });
    const listed = this.spans.map((span) => {
      const text = this.letters.slice(span.start, span.end).join("");
      return button(`${names[span.value]}: “${text}” ✕`, () => this.remove(span), { class: "mark", dir: "auto", "aria-label": worded("spans_remove", { label: names[span.value], text }) });
    });
    this.marks.replaceChildren(...listed);
  }

  focus() {
    this.keys.find((key) => key.tabIndex === 0).focus();
  }
}

const KINDS = { scale: Options, choice: Options, slider: Slider, labels: Labels, ranking: Ranking, spans: Spans };

const ask = (question, answer, changed, text) => new (KINDS[question.kind] ?? Field)(question, answer, changed, text);

