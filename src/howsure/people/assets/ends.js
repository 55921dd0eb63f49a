// The screens that every page has: who answers, the last chance to go back, and the answers on their way.

// Asks for a name where the page was not made for one person.
class NameScreen extends Screen {
  constructor(state, saved) {
    super({ title: WORDS.who, text: WORDS.whoText }, null, saved);
    this.state = state;
  }

  elements() {
    const question = { kind: "text", text: WORDS.whoLabel, required: true, max_chars: 60 };
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
  constructor() {
    super({ title: WORDS.ready, text: WORDS.readyText }, null, () => {});
    this.label = WORDS.finish;
  }

  elements() {
    return paragraphs(this.screen.text);
  }

  spend() {}
}

// The answers, to be sent, downloaded or copied.
class DoneScreen {
  constructor(content, progress, courier) {
    Object.assign(this, { content, progress, courier });
    this.result = progress.state.result;
    this.text = `${JSON.stringify(this.result, null, 1)}\n`;
    this.told = make("p", { class: "verdict", role: "status" });
    this.area = make("textarea", { class: "result", readonly: true, rows: 6, "aria-label": WORDS.resultLabel, spellcheck: "false", dir: "ltr" });
    this.area.value = this.text;
  }

  elements() {
    const { thanks, sending, rater } = this.content;
    const isOurs = !rater && !this.courier;
    return [
      ...paragraphs(thanks),
      ...(this.courier ? [] : paragraphs(sending)),
      this.told,
      make("div", { class: "moves" }, button(WORDS.download, () => this.download(), { class: "next" }), button(WORDS.copy, () => this.copy())),
      make("div", { class: "question" }, this.area),
      isOurs ? this.another() : null,
    ];
  }

  async deliver() {
    if (await this.courier?.final(this.result, (text) => (this.told.textContent = text))) this.progress.forget();
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
      this.told.textContent = WORDS.copied;
    } catch {
      this.area.focus();
      this.area.select();
      this.told.textContent = WORDS.copyByHand;
    }
  }

  another() {
    const press = () => {
      if (again.textContent === WORDS.another) return void (again.textContent = WORDS.anotherSure);
      this.progress.forget();
      location.reload();
    };
    const again = button(WORDS.another, press, { class: "quiet" });
    return again;
  }
}

