// One class a kind of screen. A screen has elements to show, questions that keys can reach, and decides in `advance` whether
// the person may go on; `label` is what its button says, and while `holds` is true there is no way back. `next` is that button, pressed.
class Screen {
  constructor(screen, record, saved) {
    this.screen = screen;
    this.record = record;
    this.saved = saved;
    this.asked = [];
    this.label = worded("next");
    this.holds = false;
  }

  // What a person must still do: complains about the first question that has a problem, and goes there.
  advance() {
    const open = this.asked.find((asked) => asked.problem());
    if (!open) return true;
    open.complain(open.problem());
    open.focus();
    return false;
  }

  spend(ms) {
    this.record.ms += ms;
  }

  leave() {
    this.asked.forEach((asked) => asked.settle());
  }

  // Questions whose answers go straight into the record.
  questions(list) {
    const { answers, revisions } = this.record;
    const changed = ({ question: { name }, answer }, isRevised) => {
      if (isRevised && revisions) revisions[name] = (revisions[name] ?? 0) + 1;
      if (answer === null) delete answers[name];
      else answers[name] = answer;
      this.saved();
    };
    const text = ({ passage: place }) => this.screen.passages?.[place]?.text;
    this.asked = list.map((question) => ask(question, answers[question.name], changed, text(question)));
    this.asked.forEach((asked) => (asked.others = this.asked));
    return this.asked.map((asked) => asked.element);
  }
}

class ConsentScreen extends Screen {
  elements() {
    const agreed = (asked) => {
      this.record.agreed = asked.answer === true;
      this.saved();
    };
    this.asked = [new Tick(this.screen.agree, this.record.agreed, agreed)];
    return [...paragraphs(this.screen.text), this.asked[0].element];
  }
}

class Tick extends Asked {
  constructor(text, isTicked, changed) {
    super({ text, required: true }, isTicked || null, changed);
    this.inner = make("input", { type: "checkbox", checked: isTicked, "aria-describedby": this.trouble.id, change: () => this.give(this.inner.checked || null) });
    const label = make("label", { class: "option tick" }, this.inner, make("span", { dir: "auto" }, text));
    this.element = make("div", { class: "question" }, label, this.trouble);
  }

  problem() {
    return this.answer ? "" : worded("agree");
  }

  focus() {
    this.inner.focus();
  }
}

class ReadingScreen extends Screen {
  elements() {
    return [...paragraphs(this.screen.text), passages(this.screen.passages)];
  }
}

class ItemScreen extends Screen {
  elements() {
    const { text, prompt, context, passages: list, questions } = this.screen;
    const asked = prompt && make("blockquote", { class: "prompt", dir: "auto" }, prompt);
    const first = questions[0].kind === "spans" ? questions[0].passage : null; // shown where it is marked
    const shown = list.filter((_, place) => place !== first);
    return [...paragraphs(text), asked || null, ...context.map((one) => make("div", { class: "passages" }, passage(one))), passages(shown), ...this.questions(questions)];
  }

  // A screening that this person does not pass ends the page.
  isRefused() {
    return Object.entries(this.screen.admits).some(([name, admitted]) => !admitted.includes(this.record.answers[name]));
  }
}

class QuizScreen extends Screen {
  elements() {
    this.verdict = make("p", { class: "verdict", tabindex: -1 });
    const elements = [...paragraphs(this.screen.text), ...this.questions(this.screen.questions), this.verdict];
    if (this.isDone()) this.tell();
    else this.label = worded("check");
    return elements;
  }

  marks() {
    const { salt, questions, rights } = this.screen;
    const answers = this.record.tries.at(-1);
    return questions.map((question) => question.name in answers && isRight(salt, question.name, question, answers[question.name], rights[question.name]));
  }

  isDone() {
    const { tries } = this.record;
    return tries.length > 0 && (tries.length >= this.screen.tries || this.marks().filter(Boolean).length >= this.screen.pass_mark);
  }

  advance() {
    if (this.isDone()) return true;
    if (this.label === worded("try_again")) this.again();
    else if (super.advance()) this.mark();
    return false;
  }

  mark() {
    this.record.tries.push({ ...this.record.answers });
    this.saved();
    this.tell();
    this.verdict.focus();
  }

  tell() {
    const marks = this.marks();
    this.asked.forEach((asked, i) => {
      asked.complain(marks[i] ? "" : worded("wrong"));
      if (marks[i]) asked.trouble.textContent = worded("right");
      asked.freeze();
    });
    const right = marks.filter(Boolean).length;
    const isPassed = right >= this.screen.pass_mark;
    const left = this.screen.tries - this.record.tries.length;
    this.verdict.textContent = worded(isPassed ? "passed" : left ? "failed_again" : "failed", { right, total: marks.length, count: left });
    this.label = this.isDone() ? worded("next") : worded("try_again");
  }

  again() {
    this.label = worded("check");
    this.verdict.textContent = "";
    const marks = this.marks();
    this.asked.forEach((asked, i) => {
      asked.freeze(false);
      if (!marks[i]) asked.clear();
      asked.give(asked.answer);
    });
    this.asked.find((asked) => asked.answer === null)?.focus();
  }
}

