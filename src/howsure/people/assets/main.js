// The way through the page: name, screens, finish. Keys, focus, saving and the clock live here.
const SCREENS = { consent: ConsentScreen, reading: ReadingScreen, item: ItemScreen, quiz: QuizScreen, game: GameScreen };

class Flow {
  beats = 0;
  isStopped = false;
  view = null;

  constructor(content, digest, session) {
    this.content = content;
    this.progress = new Progress(content, digest, session);
    this.state = this.progress.state;
    this.main = find("screen");
    this.courier = session && new Courier((text) => this.say(text), (text) => this.stop(text));
    this.steps = content.screens.map((screen) => () => this.screenFor(screen));
    if (!content.rater && !session) this.steps.unshift(() => new NameScreen(this.state, () => this.saved()));
    this.clock = new Clock((ms) => this.spend(ms));
    this.listen();
    if (session?.receipt) return void this.showReceived(session);
    this.saved();
    if (this.state.result) this.showDone();
    else this.show(Math.min(this.state.at, this.steps.length), false);
  }

  listen() {
    this.main.addEventListener("keydown", (event) => this.key(event));
    addEventListener("beforeunload", () => {
      this.pause();
      this.progress.handOver();
    });
    addEventListener("pagehide", () => this.pause());
    document.addEventListener("visibilitychange", () => this.pause());
    addEventListener("storage", ({ key }) => key === this.progress.slot && this.progress.isBehind() && this.stop(worded("elsewhere")));
  }

  screenFor(screen) {
    const record = this.progress.record(screen);
    return new SCREENS[screen.kind](screen, record, () => this.saved());
  }

  // Showing

  show(at, isMove = true) {
    this.view?.leave();
    this.clock.beat();
    this.state.at = at;
    this.view = at < this.steps.length ? this.steps[at]() : new ReadyScreen(this.content.screens.at(-1));
    this.view.next = () => this.next();
    if (this.view.record) this.view.record.visits += 1;
    this.atHand(at);
    this.draw(this.view.screen.title, this.view.elements(), this.moves(at));
    find("place").textContent = worded("place", { number: at + 1, total: this.steps.length + 1 });
    find("bar").value = at / this.steps.length;
    if (this.view.holds) this.view.asked[0].focus();
    if (isMove) this.saved();
  }

  draw(title, elements, ...rest) {
    const heading = make("h1", { tabindex: -1, dir: "auto" }, title);
    this.main.replaceChildren(heading, ...elements.filter(Boolean), ...rest);
    document.title = `${title} – ${this.content.title}`;
    heading.focus({ preventScroll: true });
    scrollTo(0, 0);
  }

  // Back and Next.
  moves(at) {
    this.backward = button(worded("back"), () => this.show(at - 1), { class: "back" });
    this.forward = button("", () => this.next(), { class: "next" });
    this.refresh();
    return make("div", { class: "moves" }, this.backward, this.forward);
  }

  refresh() {
    this.forward.textContent = this.view.label;
    this.backward.hidden = this.state.at === 0 || this.view.holds || this.view.screen.is_one_way === true;
  }

  next() {
    if (!this.view) return;
    this.clock.beat();
    if (!this.view.advance()) return this.refresh();
    if (this.view.isRefused?.()) return this.finish(this.view.screen.id);
    if (this.state.at === this.steps.length) return this.finish();
    this.show(this.state.at + 1);
  }

  // Texts that stay at hand: those of earlier screens.
  atHand(at) {
    const offset = this.steps.length - this.content.screens.length;
    const earlier = this.content.screens.slice(0, Math.max(0, at - offset)).filter((screen) => screen.at_hand);
    const panel = find("at-hand");
    const isWide = matchMedia("(min-width: 72rem)").matches;
    const isSame = panel.childElementCount === earlier.length;
    panel.hidden = !earlier.length;
    if (isSame) return;
    panel.replaceChildren(
      ...earlier.map(({ title, passages: list }) => make("details", { open: isWide }, make("summary", { dir: "auto" }, title), ...list.map(passage))),
    );
  }

  // Keys

  key(event) {
    if (event.ctrlKey && event.key === "Enter") return this.handled(event, () => this.next());
    if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
    const focused = document.activeElement;
    const isTyping = focused.matches("textarea, input[type=text]");
    if (/^[1-9]$/.test(event.key) && !isTyping) this.digit(event);
    if (event.key === "Enter" && !focused.matches("textarea, button, a, summary")) this.handled(event, () => this.enter(focused));
  }

  handled(event, act) {
    event.preventDefault();
    if (!event.repeat) act();
  }

  // A digit answers the question in hand, or the first open one, and goes on to the next question.
  digit(event) {
    const { asked = [] } = this.view ?? {};
    const inHand = asked.find((one) => one.element.contains(document.activeElement)) ?? asked.find((one) => one.answer === null);
    if (inHand?.pick(Number(event.key))) this.handled(event, () => this.after(inHand));
  }

  enter(focused) {
    const { asked = [] } = this.view ?? {};
    const inHand = asked.find((one) => one.element.contains(focused));
    const isOpen = (one) => one.answer === null && one.question.required;
    if (inHand && !isOpen(inHand) && asked.some(isOpen)) asked.find(isOpen).focus();
    else this.next();
  }

  after(inHand) {
    const { asked } = this.view;
    (asked[asked.indexOf(inHand) + 1] ?? inHand).focus();
  }

  // Saving

  spend(ms) {
    this.view?.spend?.(ms);
    this.beats += 1;
    if (this.beats % 5 === 0 && !this.isStopped) this.progress.keep();
  }

  saved() {
    if (this.isStopped) return;
    this.clock.beat();
    const isKept = this.progress.save();
    if (!isKept) this.say(worded("unsaved"));
    else if (!this.courier) this.say(worded("saved"));
    if (!this.state.result && this.hasAgreed()) this.courier?.draft(this.state);
  }

  // Before that nothing leaves the device.
  hasAgreed() {
    return this.content.screens.every(({ id, kind }) => kind !== "consent" || this.state.screens[id]?.agreed);
  }

  pause() {
    this.clock.beat();
    if (!this.isStopped) this.progress.keep();
  }

  say(text) {
    if (find("status").textContent !== text) find("status").textContent = text;
  }

  stop(text) {
    this.isStopped = true;
    this.view = null;
    find("at-hand").hidden = true;
    this.draw(this.content.title, [make("p", { class: "prose", role: "alert" }, text)]);
  }

  // The end

  finish(last = null) {
    this.clock.beat();
    this.progress.finish(last);
    this.showDone();
  }

  showDone() {
    this.view = null;
    find("at-hand").hidden = true;
    find("place").textContent = "";
    find("bar").value = 1;
    const isRefused = Object.keys(this.state.result.screens).length < this.content.screens.length;
    const done = new DoneScreen(this.content, this.progress, this.courier, isRefused);
    this.draw(worded(isRefused ? "screened_out" : "thanks"), done.elements());
    done.deliver();
  }

  showReceived({ receipt, completion: given }) {
    this.isStopped = true;
    this.progress.forget();
    find("bar").value = 1;
    this.draw(worded("thanks"), [...paragraphs(this.content.thanks || worded("thanks_text")), make("p", { class: "verdict" }, worded("received", { receipt })), ...completion(given)]);
  }
}

const begin = () => {
  const text = (id) => JSON.parse(find(id).textContent);
  const content = text("content");
  const digest = sha256(canonical(content));
  if (digest !== document.documentElement.dataset.digest) return void find("screen").replaceChildren(make("h1", {}, content.title), make("p", { role: "alert" }, worded("damaged")));
  new Flow(content, digest, text("session"));
};

begin();
