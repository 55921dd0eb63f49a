// Answers in their normal forms, and their digests: letter for letter what Python makes of them on import.
const SPACES = /[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]+/g;

// Keys are ASCII and numbers whole, so both languages agree on the order of the one and the digits of the other.
const canonical = (value) => {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const keys = Object.keys(value).sort();
  return `{${keys.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(",")}}`;
};

// Half of a letter beyond the basic plane cannot be written in UTF-8.
const whole = (text) => text.replace(/\p{Surrogate}/gu, "\ufffd");

const isBlank = (text) => text.replace(SPACES, "") === "";

const normalNumber = (text, decimals) => {
  const tidy = text.normalize("NFKC").replace(SPACES, "").replace(/\u2212/g, "-");
  const match = /^([+-]?)([0-9]{1,15})(?:[.,]([0-9]{0,15}))?$/.exec(tidy);
  if (!match || (match[3] ?? "").length > decimals) return null;
  const fraction = (match[3] ?? "").replace(/0+$/, "");
  const size = (match[2].replace(/^0+/, "") || "0") + (fraction && `.${fraction}`);
  return match[1] === "-" && size !== "0" ? `-${size}` : size;
};

const normalText = (text) => text.normalize("NFKC").replace(SPACES, "").toLowerCase();

const EDGES = new RegExp(`^${SPACES.source}|${SPACES.source}$`, "g");
const WRAPPED = `[${SPACES.source.slice(1, -2)}"'\`*_$“”‘’«»]+`;
const SUBJECT =
  "(?:(?:so|thus|hence|therefore|then)[ ,:]+)?(?:(?:the|my) +)?(?:(?:final|correct|right|missing|next) +)?" +
  "(?:answer|result|blank|piece|expression|value|number|term|letter|letters|digits|order)";
const SAID = new RegExp(`^${SUBJECT} +(?:is|are|should be|must be|would be)[ :]+(.+)$`, "is");
const NAMED = new RegExp(
  `^(?:(?:${SUBJECT} *:|it +(?:should|must|has to) +be[ :])(.+)` +
    "|(.+?) (?:belongs|goes|fits|should go|must go) +(?:in|into) +the +(?:blank|gap))$",
  "is",
);
const TAG = /<answer>(.*?)<\/answer>/gis;
const FENCE = new RegExp(`^(?:${SPACES.source})?(?:\`\`\`|~~~)[A-Za-z0-9_+-]*(?:${SPACES.source})?$`);
const DOTS = new RegExp(`\\.(?:${SPACES.source})?\\.$`); // no full stop

const unwrapped = (text) => {
  const right = new RegExp(`${WRAPPED}$`);
  const inner = text.replace(new RegExp(`^${WRAPPED}`), "").replace(right, "");
  return DOTS.test(inner) ? inner : inner.replace(/\.$/, "").replace(right, "");
};

const bare = (text) => {
  const all = text.replace(EDGES, "");
  let inner = unwrapped(all);
  for (let box; (box = /^\\(?:boxed|text|mathrm|mathbf|texttt)\{(.*)\}$/s.exec(inner)); ) inner = unwrapped(box[1]);
  return inner || all;
};

// The ways to read the final answer off a text: what stands in tags or follows the last "Answer:", or the whole text, or its last line.
const readings = (text) => {
  const end = [...text].slice(-10000).join("");
  const tagged = [...end.matchAll(TAG)].map((match) => match[1]);
  const parts = end.replace(TAG, "$1").split(/\banswer\b[ *_`]{0,4}(?:is[ *_`]{0,4})?:[ *_`]{0,4}/i);
  let lines = linesOf(parts.at(-1));
  const isMarked = parts.length > 1;
  if (tagged.length) {
    const named = new Set([...tagged, ...(isMarked ? lines.slice(0, 1) : [])].map(bare));
    lines = named.size === 1 ? linesOf(tagged[0]) : [];
  }
  if (!lines.length) return [];
  const left = lines.join("\n");
  const found = (tagged.length ? [left] : isMarked ? [lines[0], left] : [left, lines.at(-1)]).map(bare);
  const isOne = new Set([SAID, NAMED].flatMap((form) => matched(form, lines.map(bare)))).size <= 1;
  return [...found, ...matched(SAID, found), ...(isOne ? matched(NAMED, found) : [])].filter(Boolean);
};

// Lines that are neither empty nor the edge of a block of code.
const linesOf = (text) => text.split(/[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/).filter((line) => !FENCE.test(line) && !isBlank(line));

// What is left of texts that have this form.
const matched = (form, texts) => texts.map((text) => form.exec(text)).filter(Boolean).map((match) => bare(match[1] ?? match[2]));

const plainForm = (text) => {
  const one = text.replace(EDGES, "").replaceAll("{,}", ",").replaceAll("\\,", "");
  const isGrouped = /^[+-]?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?$/.test(one);
  return normalNumber(isGrouped ? one.replaceAll(",", "") : one, 15) ?? normalText(text);
};

const plainForms = (text) => [...new Set([normalText(text), ...readings(text).map(plainForm)])];

const answerForms = (question, answer) => (question.kind === "text" ? plainForms(answer) : [String(answer)]);

const hidden = (salt, part, answer) => sha256(`${salt}\n${part}\n${answer}`).slice(0, 16);

const isRight = (salt, part, question, answer, rights) => answerForms(question, answer).some((form) => rights.includes(hidden(salt, part, form)));


// What `conceal` made of a text, undone.
const revealed = (salt, part, concealed) => {
  const bytes = Uint8Array.from(atob(concealed), (letter) => letter.charCodeAt(0));
  const stream = Array.from({ length: Math.floor(bytes.length / 32) + 1 }, (_, block) => sha256(`${salt}\n${part}\ntold\n${block}`)).join("");
  return new TextDecoder().decode(bytes.map((byte, place) => byte ^ parseInt(stream.slice(2 * place, 2 * place + 2), 16)));
};
