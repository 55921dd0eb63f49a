const GAVE_UP = "(gave up)";

// Values one at a time. What was shown before is gone: it is neither kept on the screen nor reachable by going back.
class GameScreen extends Screen {
  elements() {
    this.counter = make("p", { class: "counter" });
    this.value = make("div", { class: this.screen.fixed_width ? "value fixed" : "value", dir: "auto" });
    this.shown = make("div", { class: "shown", role: "status" }, this.counter, this.value);
    this.box = make("div", { class: "reply" });
    this.giving = button(worded("give_up"), () => this.giveUp(), { class: "quiet" });
    this.hasGivenUp = false;
    this.verdict = make("p", { class: "verdict", tabindex: -1 });
    this.intro = make("div", {}, ...paragraphs(this.screen.text));
    this.isTold = false;
    this.draw();
    return [this.intro, this.shown, this.box, this.giving, this.verdict];
  }

  isOver() {
    const { steps } = this.record;
    if (this.screen.gives_up && steps.at(-1)?.answer === GAVE_UP) return true;
    if (!steps.length || steps.length >= this.screen.steps.length) return steps.length > 0;
    const mark = this.mark(steps.length - 1);
    return (this.screen.stop === "wrong" && mark === false) || (this.screen.stop === "right" && mark === true);
  }

  // Whether the answer to a step was right; null where steps are not marked.
  mark(number) {
    const { rights } = this.screen.steps[number];
    return rights.length ? isRight(this.screen.salt, number, this.question(number), this.record.steps[number].answer, rights) : null;
  }

  question(number) {
    return this.screen.steps[number].answer ?? this.screen.answer;
  }

  draw() {
    const isPlaying = this.record.begun && (!this.isOver() || this.isTold);
    this.holds = isPlaying;
    this.intro.hidden = this.record.begun;
    this.shown.hidden = this.box.hidden = !isPlaying;
    this.giving.hidden = !this.screen.gives_up || !isPlaying || this.isTold;
    this.label = isPlaying ? (this.isTold ? worded("next") : worded("send")) : this.record.begun ? worded("next") : worded("start");
    if (isPlaying && !this.isTold) this.show(this.record.steps.length);
    if (this.record.begun && !isPlaying) this.end();
  }

  show(number) {
    const { steps, unit } = this.screen;
    this.counter.textContent = worded("step", { unit, number: number + 1, total: steps.length });
    this.value.textContent = steps[number].show;
    this.value.classList.toggle("short", steps[number].show.length <= 12);
    if (!this.asked.length || steps[number].answer || steps[number - 1]?.answer) this.askAnew(number);
    this.asked[0].clear();
    this.flash();
  }

  // Two equal values in a row must be seen to be two.
  flash() {
    this.value.classList.remove("fresh");
    void this.value.offsetWidth;
    this.value.classList.add("fresh");
  }

  askAnew(number) {
    this.asked = [ask(this.question(number), null, () => {})];
    this.box.replaceChildren(this.asked[0].element);
  }

  end() {
    const marks = this.record.steps.map((_, number) => this.mark(number));
    this.verdict.textContent = marks.includes(null) ? worded("played") : worded("over", { right: marks.filter(Boolean).length });
  }

  advance() {
    if (!this.record.begun) return this.begin();
    if (this.isTold) return this.goOn();
    if (this.isOver()) return true;
    if (this.hasGivenUp) return this.note(GAVE_UP);
    return super.advance() && this.note(this.asked[0].answer);
  }

  begin() {
    this.record.begun = true;
    this.turn();
    return false;
  }

  note(answer) {
    const { record } = this;
    record.steps.push({ answer, ms: record.open_ms });
    record.open_ms = 0;
    if (this.screen.tells && answer !== GAVE_UP) this.tell();
    else this.turn();
    return false;
  }

  // By way of the page's own button, which counts the time until now and changes its label.
  giveUp() {
    this.hasGivenUp = true;
    this.next();
  }

  tell() {
    const mark = this.mark(this.record.steps.length - 1);
    this.isTold = true;
    this.asked[0].freeze();
    this.verdict.textContent = mark === null ? worded("noted") : mark ? worded("right") : this.corrected();
    this.saved();
    this.draw();
    this.verdict.focus();
  }

  corrected() {
    const number = this.record.steps.length - 1;
    const { correction } = this.screen.steps[number];
    return correction ? `${worded("wrong")} ${worded("right_answer", { answer: revealed(this.screen.salt, number, correction) })}` : worded("wrong");
  }

  goOn() {
    this.isTold = false;
    this.asked[0].freeze(false);
    this.verdict.textContent = "";
    this.turn();
    return false;
  }

  turn() {
    this.saved();
    this.draw();
    if (this.holds) this.asked[0].focus();
    else this.verdict.focus();
  }

  spend(ms) {
    super.spend(ms);
    if (this.holds && !this.isTold) this.record.open_ms += ms;
  }
}

