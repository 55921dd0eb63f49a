// Everything the page itself says, in its language; blanks in braces are filled in. What it shows from the study comes from its content.
const WORDS = JSON.parse(document.getElementById("words").textContent);
const plural = new Intl.PluralRules(document.documentElement.lang);

const worded = (name, blanks = {}) => {
  const text = WORDS[name];
  const form = typeof text === "string" ? text : (text[plural.select(blanks.count ?? 0)] ?? text.other);
  return form.replace(/\{([a-z]+)\}/g, (whole, blank) => blanks[blank] ?? whole);
};

