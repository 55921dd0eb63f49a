// Elements from data. A text only ever becomes a text node: there is no way from here to markup.
const find = (id) => document.getElementById(id);

const make = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value == null || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child != null && child !== false));
  return element;
};

const button = (label, press, attributes = {}) => make("button", { type: "button", click: press, ...attributes }, label);

const paragraphs = (text) =>
  text
    .split(/\n\s*\n/)
    .filter((part) => part.trim())
    .map((part) => make("p", { dir: "auto", class: "prose" }, part.trim()));

// A text under its label. The box takes the focus, so that a long one can be scrolled by keyboard.
const passage = ({ label, text }) =>
  make("section", { class: "passage" }, make("h2", { dir: "auto" }, label), make("div", { class: "text", dir: "auto", tabindex: 0, role: "group", "aria-label": label }, text));

const passages = (list) => (list.length ? make("div", { class: `passages n${list.length}` }, ...list.map(passage)) : null);

