// SHA-256 of a text, in hexadecimal. Written out because the browser's own is missing where a page is served over plain
// http, and cannot answer at once where a game needs it to.
const sha256 = (() => {
  const primes = [];
  for (let n = 2; primes.length < 64; n++) if (primes.every((prime) => n % prime)) primes.push(n);
  const fraction = (root) => ((root % 1) * 2 ** 32) | 0;
  const START = primes.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)));
  const ROUND = primes.map((prime) => fraction(Math.cbrt(prime)));
  const turn = (x, n) => (x >>> n) | (x << (32 - n));

  const padded = (bytes) => {
    const length = (((bytes.length + 8) >> 6) + 1) << 6;
    const whole = new Uint8Array(length);
    whole.set(bytes);
    whole[bytes.length] = 0x80;
    const view = new DataView(whole.buffer);
    view.setUint32(length - 8, Math.floor(bytes.length / 2 ** 29));
    view.setUint32(length - 4, bytes.length << 3);
    return view;
  };

  const schedule = (words, view, offset) => {
    for (let i = 0; i < 16; i++) words[i] = view.getUint32(offset + 4 * i);
    for (let i = 16; i < 64; i++) {
      const [early, late] = [words[i - 15], words[i - 2]];
      const low = turn(early, 7) ^ turn(early, 18) ^ (early >>> 3);
      const high = turn(late, 17) ^ turn(late, 19) ^ (late >>> 10);
      words[i] = (words[i - 16] + low + words[i - 7] + high) | 0;
    }
  };

  const compress = (state, words) => {
    let [a, b, c, d, e, f, g, h] = state;
    for (let i = 0; i < 64; i++) {
      const first = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + ROUND[i] + words[i]) | 0;
      const second = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((value, i) => (state[i] = (state[i] + value) | 0));
  };

  return (text) => {
    const view = padded(new TextEncoder().encode(text));
    const state = [...START];
    const words = new Int32Array(64);
    for (let offset = 0; offset < view.byteLength; offset += 64) {
      schedule(words, view, offset);
      compress(state, words);
    }
    return state.map((value) => (value >>> 0).toString(16).padStart(8, "0")).join("");
  };
})();

