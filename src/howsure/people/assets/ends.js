// The screens that every page has: who answers, the last chance to go back, and the answers on their way.

// Asks for a name where the page was not made for one person.
class NameScreen extends Screen {
  constructor(state, saved) {
    super({ title: worded("who"), text: worded("who_text") }, null, saved);
    this.state = state;
  }

  elements() {
    const question = { kind: "text", text: worded("who_label"), required: true, max_chars: 60 };
    const named = ({ answer }) => {
      this.state.rater = (answer ?? "").trim();
      this.saved();
    };
    this.asked = [ask(question, this.state.rater || null, named)];
    return [...paragraphs(this.screen.text), this.asked[0].element];
  }

  spend() {}
}

class ReadyScreen extends Screen {
  constructor(last) {
    super({ title: worded("ready"), text: worded(last?.is_one_way ? "ready_closed_text" : "ready_text") }, null, () => {});
    this.label = worded("finish");
  }

  elements() {
    return paragraphs(this.screen.text);
  }

  spend() {}
}

// What a platform that pays people asks for: a code, a way back, or both. It comes with the receipt, never before.
const completion = (given) => [
  ...(given?.code ? [make("p", { class: "code" }, worded("completion_code", given))] : []),
  ...(given?.url ? [make("p", {}, make("a", { href: given.url, class: "way", rel: "noreferrer" }, worded("completion_link")))] : []),
];

// The answers, to be sent, downloaded or copied.
class DoneScreen {
  constructor(content, progress, courier, isRefused) {
    Object.assign(this, { content, progress, courier, isRefused });
    this.result = progress.state.result;
    this.text = `${JSON.stringify(this.result, null, 1)}\n`;
    this.told = make("p", { class: "verdict", role: "status" });
    this.way = make("div", {});
    this.copied = make("p", { class: "trouble", role: "status" });
    this.area = make("textarea", { class: "result", readonly: true, rows: 6, "aria-label": worded("result_label"), spellcheck: "false", dir: "ltr" });
    this.area.value = this.text;
  }

  elements() {
    const { thanks, sending, rater } = this.content;
    const isOurs = !rater && !this.courier;
    return [
      ...paragraphs(this.isRefused ? worded("screened_out_text") : thanks || worded("thanks_text")),
      ...(this.courier ? [] : paragraphs(sending || worded("sending_text"))),
      this.told,
      this.way,
      this.own(),
      isOurs ? this.another() : null,
    ];
  }

  own() {
    const moves = make("div", { class: "moves" }, button(worded("download"), () => this.download(), { class: "next" }), button(worded("copy"), () => this.copy()));
    this.copy_of_answers = make("div", {}, moves, make("div", { class: "question", "aria-invalid": "false" }, this.area, this.copied));
    return this.copy_of_answers;
  }

  async deliver() {
    const received = await this.courier?.final(this.result, (text) => (this.told.textContent = text));
    if (!received) return;
    this.progress.forget();
    this.way.replaceChildren(...completion(received.completion));
    // nothing is left to do, so a copy for oneself is folded away
    const folded = make("details", {}, make("summary", {}, worded("own_copy")));
    this.copy_of_answers.replaceWith(folded);
    folded.append(this.copy_of_answers);
  }

  download() {
    const link = make("a", { download: `answers-${this.result.rater.replace(/[^A-Za-z0-9_-]+/g, "-")}-${this.result.digest.slice(0, 8)}.json` });
    link.href = URL.createObjectURL(new Blob([this.text], { type: "application/json" }));
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  }

  async copy() {
    try {
      await navigator.clipboard.writeText(this.text);
      this.copied.textContent = worded("copied");
    } catch {
      this.area.focus();
      this.area.select();
      this.copied.textContent = worded("copy_by_hand");
    }
  }

  another() {
    const press = () => {
      if (again.textContent === worded("another")) return void (again.textContent = worded("another_sure"));
      this.progress.forget();
      location.reload();
    };
    const again = button(worded("another"), press, { class: "quiet" });
    return again;
  }
}

