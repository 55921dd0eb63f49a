// Time that the page was in view, in milliseconds. It is told at every beat, and whenever something is entered, so that each answer
// has its own time. A machine that sleeps, or a page in the background, adds at most one beat.
class Clock {
  static BEAT = 1000;

  constructor(spend) {
    this.spend = spend;
    this.last = performance.now();
    setInterval(() => this.beat(), Clock.BEAT);
    document.addEventListener("visibilitychange", () => this.beat(document.visibilityState === "hidden"));
  }

  beat(wasVisible = document.visibilityState === "visible") {
    const now = performance.now();
    const passed = Math.round(now - this.last);
    this.last += passed; // what rounding left counts next time
    if (wasVisible) this.spend(Math.min(passed, 2 * Clock.BEAT));
  }
}

