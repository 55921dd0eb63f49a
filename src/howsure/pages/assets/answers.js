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

const normalAnswer = (question, answer) => (question.kind === "text" ? normalText(answer) : String(answer));

const hidden = (salt, part, answer) => sha256(`${salt}\n${part}\n${answer}`).slice(0, 16);

const isRight = (salt, part, question, answer, rights) => rights.includes(hidden(salt, part, normalAnswer(question, answer)));

