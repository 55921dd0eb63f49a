// Time that the page was in view. A machine that sleeps, or a page in the background, adds at most one beat.
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
    const passed = Math.min(Math.round(now - this.last), 2 * Clock.BEAT);
    this.last = now;
    if (wasVisible) this.spend(passed);
  }
}

