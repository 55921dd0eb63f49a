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

// Formatted texts come as data, element by element; a tag or an attribute that is not listed here is left out.
const TAGS = "p br hr ul ol li blockquote pre code em strong s sub sup img table thead tbody tr th td".split(" ");
const MATH = "math mrow mi mn mo ms mtext mspace mfrac msqrt mroot mstyle msub msup msubsup munder mover munderover mtable mtr mtd mpadded mphantom".split(" ");
const ALLOWED = "alt src class start display stretchy fence form accent linethickness mathvariant columnalign displaystyle width height lspace rspace minsize maxsize".split(" ");

const rich = (node) => {
  if (typeof node === "string") return node;
  const { tag, attributes, children } = node;
  const isMath = MATH.includes(tag);
  if (!isMath && !TAGS.includes(tag)) return "";
  const element = isMath ? document.createElementNS("http://www.w3.org/1998/Math/MathML", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (ALLOWED.includes(name) && (name !== "src" || /^data:image\/(png|jpeg|gif|webp);base64,/.test(value))) element.setAttribute(name, value);
  }
  element.append(...children.map(rich));
  return tag === "table" ? make("div", { class: "wide", tabindex: 0 }, element) : element;
};

const written = ({ text, rich: nodes }) => (nodes.length ? nodes.map(rich) : [text]);

const turn = (one) => make("div", { class: "turn" }, make("p", { class: "who", dir: "auto" }, one.who), make("div", { class: one.rich.length ? "formatted" : "text", dir: "auto" }, ...written(one)));

// A text under its label, or a conversation. The box takes the focus, so that a long one can be scrolled by keyboard.
const passage = (one) => {
  const kind = one.turns.length ? "turns" : one.rich.length ? "formatted" : "text";
  const inner = one.turns.length ? one.turns.map(turn) : written(one);
  return make("section", { class: "passage" }, make("h2", { dir: "auto" }, one.label), make("div", { class: `box ${kind}`, dir: "auto", tabindex: 0, role: "group", "aria-label": one.label }, ...inner));
};

const passages = (list) => (list.length ? make("div", { class: `passages n${Math.min(list.length, 5)}` }, ...list.map(passage)) : null);

