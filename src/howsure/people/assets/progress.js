// What the person has done so far. It is kept on the device after every answer, so that a reload loses nothing.
const BLANK = {
  consent: { agreed: false },
  reading: {},
  item: { answers: {}, revisions: {} },
  quiz: { answers: {}, tries: [] },
  game: { begun: false, open_ms: 0, steps: [] },
};

const openStorage = () => {
  try {
    localStorage.setItem("howsure", "here");
    return localStorage;
  } catch {
    return null;
  }
};

class Progress {
  isForgotten = false;

  constructor(content, digest, session) {
    this.content = content;
    this.storage = openStorage();
    this.slot = `howsure ${digest} ${session?.rater ?? content.rater}`;
    this.state = this.newer(this.left(), session?.draft) ?? {
      page: digest,
      rater: session?.rater ?? content.rater,
      started: new Date().toISOString(),
      reloads: -1,
      at: 0,
      saves: 0,
      screens: {},
    };
    this.state.reloads += 1;
  }

  stored() {
    try {
      const { saves, screens, ...rest } = JSON.parse(this.storage.getItem(this.slot));
      return saves > 0 && screens ? { ...rest, saves, screens } : null;
    } catch {
      return null; // nothing there, or nothing of ours
    }
  }

  // What was left on this device. A reload can be quicker than its storage, which then seems empty or old: what this
  // window had is in its history as well (`handOver`); null there means that it was forgotten.
  left() {
    const handed = history.state?.slot === this.slot ? history.state.state : undefined;
    history.replaceState(null, "");
    return handed === null ? null : this.newer(this.stored(), handed);
  }

  handOver() {
    try {
      history.replaceState({ slot: this.slot, state: this.isForgotten ? null : this.state }, "");
    } catch {
      // too large for this browser's history: what the storage has must do
    }
  }

  // The state that was saved more often is the one that was worked on last.
  newer(here, there) {
    if (!here || !there) return here ?? there ?? null;
    return here.saves > there.saves ? here : there;
  }

  record({ id, kind }) {
    this.state.screens[id] ??= { kind, ms: 0, visits: 0, ...structuredClone(BLANK[kind]) };
    return this.state.screens[id];
  }

  save() {
    this.state.saves += 1;
    return this.keep();
  }

  keep() {
    try {
      this.storage.setItem(this.slot, JSON.stringify(this.state));
      return true;
    } catch {
      return false; // no storage, or it is full
    }
  }

  // Whether another window went further. (What this window wrote before a reload may also be reported, late.)
  isBehind() {
    return this.stored()?.saves > this.state.saves;
  }

  forget() {
    this.storage?.removeItem(this.slot);
    this.storage = null;
    this.isForgotten = true;
  }

  // The final answers. Made once: the same file however often it is downloaded or sent. A screening ends them with its screen.
  finish(last) {
    const { page, rater, started, reloads } = this.state;
    const ids = this.content.screens.map(({ id }) => id);
    const kept = last ? ids.slice(0, ids.indexOf(last) + 1) : ids;
    const screens = Object.fromEntries(kept.map((id) => [id, this.state.screens[id]]));
    const result = { format: "howsure-result/1", page, rater, started, finished: new Date().toISOString(), reloads, screens };
    this.state.result ??= { ...result, digest: sha256(canonical(result)) };
    this.save();
  }
}

