// The researcher's view: asks the collector every few seconds how far everyone is.
const PAUSE = 3000;
const base = location.pathname.replace(/\/?$/, "/");

const row = ({ label, state, done, of, minutes, signs }) =>
  make("tr", {}, make("th", { scope: "row" }, label), ...[state, `${done} of ${of}`, minutes.toFixed(1), signs.join("; ")].map((text) => make("td", {}, text)));

const draw = ({ title, finished, begun, invited, raters }) => {
  find("title").textContent = title;
  find("counts").textContent = `${finished} finished, ${begun} begun, ${invited} not yet begun.`;
  find("raters").replaceChildren(...raters.map(row));
};

const look = async () => {
  try {
    draw(await (await fetch(`${base}progress`)).json());
  } catch {
    find("counts").textContent = "The collector does not answer.";
  }
  setTimeout(look, PAUSE);
};

find("export").href = `${base}results.jsonl`;
look();
