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
    const isRevised = this.settled !== null && this.answer !== this.settled;
    this.settled = this.answer;
    if (isRevised) this.changed(this, true);
  }

  give(answer) {
    this.answer = answer;
    this.complain("");
    this.changed(this, false);
  }

  problem() {
    return this.answer === null && this.question.required ? WORDS.answer : "";
  }

  complain(text) {
    this.trouble.textContent = text;
    this.inner.setAttribute("aria-invalid", String(text !== ""));
  }

  leaving(element) {
    element.addEventListener("focusout", () => setTimeout(() => element.contains(document.activeElement) || this.settle()));
  }

  label() {
    const { text, required } = this.question;
    return required ? [text] : [text, make("span", { class: "optional" }, ` (${WORDS.optional})`)];
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
    return number === null ? WORDS.number(decimals) : this.isOutside(number) ? WORDS.between(low, high) : "";
  }

  focus() {
    this.inner.focus();
  }

  pick() {
    return false;
  }

  clear() {
    this.inner.value = "";
    this.answer = this.settled = null;
  }

  freeze(isFrozen = true) {
    this.inner.readOnly = isFrozen;
  }
}

const ask = (question, answer, changed) => new (["scale", "choice"].includes(question.kind) ? Options : Field)(question, answer, changed);

