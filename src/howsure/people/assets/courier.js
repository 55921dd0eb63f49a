// Brings drafts and the final answers to the collector that served the page; tries again until it is answered.
class Courier {
  static PAUSE = 1500;
  static LONGEST = 30_000;

  constructor(say, stop) {
    this.base = location.pathname.replace(/\/?$/, "/");
    this.say = say;
    this.stop = stop;
    this.waiting = null;
    this.isBusy = false;
    this.isFinal = false;
  }

  // Only the newest draft matters, and one at a time is under way.
  draft(state) {
    this.waiting = state;
    if (!this.isBusy) this.deliver();
  }

  async deliver() {
    this.isBusy = true;
    while (this.waiting) {
      await this.pause(Courier.PAUSE);
      if (this.isFinal) return;
      const text = canonical(this.waiting);
      this.waiting = null;
      const { status } = await this.insist("PUT", "draft", text, () => !this.isFinal && this.say(worded("saved_here")));
      if (this.isFinal) return;
      if (status === 409) return this.stop(worded("elsewhere"));
      this.say(status === 200 ? worded("saved_there") : worded("saved_here"));
    }
    this.isBusy = false;
  }

  // Once the final answers are on their way, drafts no longer matter.
  async final(result, say) {
    this.isFinal = true;
    say(worded("sending"));
    const { status, told } = await this.insist("POST", "result", canonical(result), () => say(worded("waiting")));
    if (status === 200) say(worded("received", told));
    else say(worded("refused", { reason: told.error ?? status }));
    return status === 200 ? told : null;
  }

  // One answer from the server, however long it takes; `wait` is told of each delay and ends the trying by returning false.
  // Too many requests and a server in trouble are reasons to wait.
  async insist(method, place, body, wait) {
    for (let delay = 1000; ; delay = Math.min(2 * delay, Courier.LONGEST)) {
      const answer = await this.ask(method, place, body);
      if (answer && answer.status !== 429 && answer.status < 500) return answer;
      if (wait() === false) return {};
      await this.pause(delay);
    }
  }

  async ask(method, place, body) {
    try {
      const options = { method, body, headers: { "Content-Type": "application/json" }, signal: AbortSignal.timeout(20_000) };
      const response = await fetch(this.base + place, options);
      return { status: response.status, told: await response.json().catch(() => ({})) };
    } catch {
      return null;
    }
  }

  pause(delay) {
    return new Promise((resolve) => {
      const go = () => {
        clearTimeout(timer);
        removeEventListener("online", go);
        resolve();
      };
      const timer = setTimeout(go, delay);
      addEventListener("online", go);
    });
  }
}

